import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { Request } from '../../../src-shared/records.ts'
import { ask, balletTool } from '../../support/asking.ts'
import { runBallet } from '../../support/command-line.ts'
import { begin, type Scene, sceneOf, TURN_LIMIT_MS } from '../../support/conformance.ts'
import { seenIn, timesSaid } from '../../support/conversation.ts'
import { makeRuntimes, TESTED, useRuntimes } from '../../support/runtimes.ts'
import { bash, say, script, write } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  showEvents,
  timelineOf,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { workIn } from '../../support/work-in.ts'
import { test } from '../../support/workbench.ts'

const A = bash('printf a >> runs')
const B = bash('printf b >> runs')
/** What is allowed for a session may be all calls of its program. */
const C = bash('touch never')

const PASSPHRASE = 'correct horse battery staple'
const WORK = [
  'echo staged > cart.txt && git add cart.txt && echo "changed again" >> cart.txt',
  'mkdir -p empty/folder && echo KEY=never-on-the-remote > .env && echo said-by-the-tool',
].join(' && ')

// The cold start of some of them takes a second of a processor that is not busy.
test.slow()

for (const runtime of TESTED) {
  test(`${runtime.title}: what needs permission is asked for, and allowed, allowed for the session, denied`, async ({
    bench,
  }) => {
    const steps = [A, A, B, B, write('note.txt', 'x\n'), C, say('Done.')]
    const scene = await begin(bench, runtime, `Ticket-word. ${script(...steps)}`, {
      project: { permission: 'ask' },
    })
    const { client, can } = scene
    if (!can.permissionRequests) {
      await waitForTurnEnd(client, scene.id, 1, TURN_LIMIT_MS)
      expect(ofKind(await scene.checked(), 'request.opened')).toEqual([])
      return
    }
    const answered: Request[] = []
    const next = async (title: RegExp | string) => {
      const request = await openRequest(scene, answered)
      answered.push(request)
      expect(request).toMatchObject({ state: 'open', waits: true, turn: 1 })
      expect(request.title).toMatch(title)
      return request.id
    }
    await client.requests.allow({ ref: await next(/printf a >> runs/u) })
    const again = await next(/printf a >> runs/u)
    expect(await runs(scene)).toBe('a')
    await client.requests.allow({ ref: again })
    await client.requests.allow({ ref: await next(/printf b >> runs/u), forSession: true })
    // The same once more is not asked for.
    await client.requests.allow({ ref: await next(/note\.txt/u) })
    expect(await runs(scene)).toBe('aabb')
    const denied = await next(/touch never/u)
    await client.requests.deny({ ref: denied, text: 'reason-word: use make' })
    await waitForTurnEnd(client, scene.id, 1, TURN_LIMIT_MS)
    expect((await workIn((await scene.session()).workspace ?? '')).files.join()).not.toContain(
      'never',
    )
    // A runtime whose turn ends with the refusal is told why by what it gets next.
    await scene.turn((await scene.session()).turn + 1, 'Next-word.', B, say('Again.'))
    expect(seenIn(scene.requests().at(-1))).toContain('reason-word')
    expect(await runs(scene)).toBe('aabbb')
    const events = await scene.checked()
    const closed = ofKind(events, 'request.closed')
    const outcomes = answered.map(({ id }) => closed.find(({ request }) => request === id)?.outcome)
    expect(outcomes).toEqual(['allowed', 'allowed', 'allowed-for-session', 'allowed', 'denied'])
  })

  test(`${runtime.title}: a question is asked, and answered on another machine, in the same conversation`, async ({
    bench,
  }) => {
    const question = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }
    const before = await begin(
      bench,
      runtime,
      `Ticket-word. ${script(bash(WORK, 'I begin.'), ask(question), say('I asked.'))}`,
      { files: { 'README.md': '# Shop\n', 'cart.txt': 'a cart\n' } },
    )
    const { host, client, id, can } = before
    await waitForTurnEnd(client, id, 1, TURN_LIMIT_MS)
    const asked = await before.session()
    const events = await before.checked()
    expect(asked.openQuestions, showEvents(events)).toBe(can.mcp ? 1 : 0)
    if (can.mcp) {
      expect(ofKind(events, 'tool.call').at(-1)).toMatchObject({
        ...{ name: balletTool('ask_question'), toolKind: 'mcp' },
      })
    }
    const work = await workIn(asked.workspace ?? '')
    const file = bench.path('moved.ballet')
    const env = { ...bench.env, BALLET_PASSPHRASE: PASSPHRASE }
    const told = (dataDir: string, ...args: string[]) =>
      runBallet(['session', ...args, '--data', dataDir, '--json'], { env })
    const exported = await told(host.dataDir, 'export', id, '--out', file)
    expect(exported.code, exported.stderr).toBe(0)
    expect(await before.processes()).toEqual([])
    await host.stopFast()

    // Another machine of the same person: nothing there knows of the first one's conversations.
    const runtimes = await makeRuntimes(bench, [runtime], { name: 'homes of the other' })
    const dataDir = bench.path('elsewhere/deeper/data two')
    await useRuntimes(dataDir, runtimes)
    const second = await bench.host({ dataDir, env: runtimes.env })
    await addProject(second.client, before.repo, {
      ...{ runtime: runtime.runtime, planner: false, window: 'never' },
    })
    const imported = await told(dataDir, 'import', file)
    expect(imported.code, imported.stderr).toBe(0)
    const after = await sceneOf(bench, second, runtime, id)
    const goOn = script(say('Blue it is.'))
    if (can.mcp) await second.cli('answer', 'SHOP-1-Q1', '--option', '2', goOn)
    else await second.client.sessions.send({ ref: id, text: goOn })
    await waitForTurnEnd(second.client, id, 2, TURN_LIMIT_MS)
    const session = await waitForState(second.client, id, 'waiting')
    const all = await after.checked()
    expect(session.workspace).toContain('data two')
    expect(await workIn(session.workspace ?? ''), showEvents(all)).toEqual(work)
    const last = after.requests().at(-1)
    expect(timesSaid(last, 'Ticket-word.')).toBe(1)
    if (can.mcp) expect(seenIn(last)).toContain('Answer: Blue')
    const notices = ofKind(all, 'notice').map(({ code }) => code)
    expect(notices.includes('conversation.anew')).toBe(!can.moves)
    expect(session.conversation === asked.conversation).toBe(can.moves)
    if (can.moves) {
      for (const part of ['I begin.', 'said-by-the-tool', 'I asked.']) {
        expect(seenIn(last), part).toContain(part)
      }
    }
    // It works there, and not where it came from.
    await after.turn(3, 'Third-word.', bash('pwd'), say('Here.'))
    expect(ofKind(await after.checked(), 'tool.result').at(-1)?.output).toContain('data two')
  })
}

/** The open request, once there is one that is not among `known`. */
function openRequest({ client, id }: Scene, known: readonly Request[]): Promise<Request> {
  let seen = ''
  return waitFor(
    'a request',
    async () => {
      seen = showEvents(await timelineOf(client, id))
      const open = await client.requests.list({ session: id, state: 'open' })
      return open.find((request) => known.every((each) => each.id !== request.id))
    },
    { timeoutMs: TURN_LIMIT_MS, state: () => seen },
  )
}

/** What was run, in order; each command leaves its letter. */
async function runs(scene: Scene): Promise<string> {
  const { workspace } = await scene.session()
  return readFile(join(workspace ?? '', 'runs'), 'utf8').catch(() => '')
}
