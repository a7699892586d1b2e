import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { wholeText } from '../../model/messages.ts'
import type { RecordedRequest } from '../../model/record.ts'
import type { Step } from '../../model/script.ts'
import {
  begin,
  expectNothingLeft,
  runtimeProcess,
  type Scene,
  TURN_LIMIT_MS,
} from '../../support/conformance.ts'
import { seenIn, timesSaid } from '../../support/conversation.ts'
import { isAlive } from '../../support/process-tree.ts'
import { TESTED } from '../../support/runtimes.ts'
import { bash, say, script, untilFile, write } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  ofKind,
  type timelineOf,
  waitForEvent,
  waitForLiveText,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

/** What every runtime does, whichever it is: asked for by its capabilities, never by its name. */

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const STREAMED = 'alpha beta gamma delta epsilon zeta eta theta iota omega'

const file = (name: string) => `{{cwd}}/${name}`

/** One call of each kind, in an order that every runtime takes. */
const KINDS: readonly Step[] = [
  bash('echo said-by-the-shell'),
  write('note.txt', 'first line\nsecond line\n'),
  { tool: 'Read', input: { file_path: file('note.txt') } },
  {
    tool: 'Edit',
    input: { file_path: file('note.txt'), old_string: 'second line', new_string: 'changed line' },
  },
  { tool: 'Grep', input: { pattern: 'changed', path: '{{cwd}}', output_mode: 'content' } },
]

/** How often the texts of the user in all requests of a turn have a word. */
const saying = (requests: readonly RecordedRequest[], word: string) =>
  requests.filter((request) => wholeText(request.messages).includes(word))

// The cold start of some of them takes a second of a processor that is not busy.
test.slow()

for (const runtime of TESTED) {
  test(`${runtime.title}: turns, streaming, a call of each kind, usage; a stop leaves nothing`, async ({
    bench,
  }) => {
    const first: Step = { text: STREAMED, chunks: 10, gate: 'half', ...KINDS[0] }
    const scene = await begin(
      bench,
      runtime,
      `Ticket-word. ${script(first, ...KINDS.slice(1), say('Turn one is over.'))}`,
    )
    const { client, id, can } = scene
    const live = await waitForLiveText(client, id, 'alpha')
    expect(live).not.toContain('omega')
    bench.model.release('half')
    await waitForTurnEnd(client, id, 1, TURN_LIMIT_MS)
    await scene.turn(2, 'Second-word.', say('Turn two is over.'))

    const events = await scene.checked()
    expect(ofKind(events, 'assistant.text').map(({ text }) => text)).toEqual([
      ...[STREAMED, 'Turn one is over.', 'Turn two is over.'],
    ])
    expectCalls(events)
    const ends = ofKind(events, 'turn.ended')
    expect(ends.map(({ reason }) => reason)).toEqual(['completed', 'completed'])
    for (const { usage, costUsd } of ends) {
      const tokens = usage.inputTokens + usage.outputTokens
      expect(tokens > 0, `usage ${JSON.stringify(usage)}`).toBe(can.usage)
      expect(costUsd > 0, `cost ${costUsd}`).toBe(can.cost)
    }
    const last = scene.requests().at(-1)
    for (const said of ['Ticket-word.', 'Second-word.']) {
      expect(timesSaid(last, said), said).toBe(1)
    }
    for (const part of ['said-by-the-shell', 'Turn one is over.']) {
      expect(seenIn(last)).toContain(part)
    }
    const notices = ofKind(events, 'notice').filter(({ level }) => level === 'error')
    expect(notices).toEqual([])
    const session = await scene.session()
    expect(session).toMatchObject({ state: 'waiting', turn: 2, reason: '' })
    await expectNothingLeft(scene)
  })

  test(`${runtime.title}: a queued message is of the next turn, a steered one of this, images arrive`, async ({
    bench,
  }) => {
    const done = bench.path('done')
    const scene = await begin(
      bench,
      runtime,
      `Ticket-word. ${script(bash(untilFile(done)), bash('sleep 2'), say('Turn one is over.'))}`,
    )
    const { client, id, can } = scene
    await waitForEvent(client, id, 'tool.call')
    await client.sessions.send({ ref: id, text: 'queued-word' })
    const steered = await client.sessions.send({ ref: id, text: 'steer-word', steer: true })
    expect(steered.notSteered?.code).toBe(can.steer ? undefined : 'steer.unsupported')
    await writeFile(done, '')
    await waitForTurnEnd(client, id, 2, TURN_LIMIT_MS)
    // Where there is no steering it was queued with the other one.
    const requests = scene.requests()
    const ofFirst = requests.filter(({ messages }) => !wholeText(messages).includes('queued-word'))
    expect(ofFirst.length, 'requests of turn one').toBe(3)
    expect(saying(requests, 'queued-word')).toEqual(requests.slice(3))
    expect(saying(ofFirst, 'steer-word').length > 0).toBe(can.steer)
    expect(seenIn(requests.at(-1)).split('steer-word').length - 1).toBe(1)

    const images = [{ mediaType: 'image/png' as const, data: PNG }]
    const text = `look-at-this ${script(say('Seen.'))}`
    const sent = client.sessions.send({ ref: id, text, images })
    if (!can.images) {
      await expect(sent).rejects.toMatchObject({ data: { code: 'image.unsupported' } })
    } else {
      await sent
      await waitForTurnEnd(client, id, 3, TURN_LIMIT_MS)
      expect(JSON.stringify(scene.requests().at(-1)?.messages)).toContain(PNG)
    }
    const events = await scene.checked()
    for (const { reason } of ofKind(events, 'turn.ended')) expect(reason).toBe('completed')
  })

  test(`${runtime.title}: an interrupt in a tool and in a stream ends both, and the conversation goes on`, async ({
    bench,
  }) => {
    const scene = await begin(
      bench,
      runtime,
      `Ticket-word. ${script(bash('sleep 397 & setsid sleep 398 & sleep 399'), say('Never.'))}`,
    )
    const { client, id } = scene
    const inTool = await sleepers(bench)
    // A runtime may tell of a command only after it has started it.
    await waitForEvent(client, id, 'tool.call')
    expect(await interrupt(scene, 1, () => noneAlive(inTool))).toBeLessThan(1_000)
    // The runtime itself is not what was ended.
    const pid = await runtimeProcess(scene)

    const text = `${STREAMED} end-of-the-stream`
    await client.sessions.send({
      ref: id,
      text: `Second-word. ${script({ text, chunks: 10, gate: 'never' })}`,
    })
    await waitForLiveText(client, id, 'alpha')
    await interrupt(scene, 2, () => true)
    await scene.turn(3, 'Third-word.', bash('echo still-here'), say('I go on.'))
    expect(await runtimeProcess(scene)).toBe(pid)

    const events = await scene.checked()
    expect(ofKind(events, 'turn.ended').map(({ reason }) => reason)).toEqual([
      ...['interrupted', 'interrupted', 'completed'],
    ])
    expect(ofKind(events, 'tool.result').map(({ status }) => status)).toEqual(['cancelled', 'ok'])
    const told = ofKind(events, 'assistant.text').map((event) => event.text)
    expect(told.at(-1)).toBe('I go on.')
    expect(told.join()).not.toContain('end-of-the-stream')
    const last = scene.requests().at(-1)
    for (const said of ['Ticket-word.', 'Second-word.', 'Third-word.']) {
      expect(timesSaid(last, said), said).toBe(1)
    }
  })
}

/** Each kind was called once, with its result, and what changed a file shows how. */
function expectCalls(events: Awaited<ReturnType<typeof timelineOf>>): void {
  const calls = ofKind(events, 'tool.call')
  const results = ofKind(events, 'tool.result')
  expect(results.map(({ status, output }) => [status, status === 'ok' ? '' : output])).toEqual(
    KINDS.map(() => ['ok', '']),
  )
  const kinds = calls.map(({ toolKind }) => toolKind)
  expect(kinds[0]).toBe('execute')
  expect(calls[0]?.title).toContain('echo said-by-the-shell')
  expect(results[0]?.output).toContain('said-by-the-shell')
  expect(kinds[1]).toBe('edit')
  expect(kinds[3]).toBe('edit')
  // A runtime without tools for these does them in its shell.
  expect(['read', 'execute']).toContain(kinds[2])
  expect(['search', 'execute']).toContain(kinds[4])
  expect(results[2]?.output).toContain('first line')
  expect(results[4]?.output).toContain('changed line')
  expect(results[1]?.diff).toMatchObject([{ path: 'note.txt', added: 2, removed: 0 }])
  expect(results[3]?.diff).toMatchObject([{ path: 'note.txt', added: 1, removed: 1 }])
}

const sleepers = (bench: Workbench) =>
  Promise.all(['sleep 397', 'sleep 398', 'sleep 399'].map((command) => bench.process(command)))

async function noneAlive(processes: Awaited<ReturnType<typeof sleepers>>): Promise<boolean> {
  const alive = await Promise.all(processes.map((each) => isAlive(each)))
  return !alive.includes(true)
}

/** Interrupts, and gives the milliseconds until `isOver`; the turn has ended then. */
async function interrupt(
  { client, id }: Scene,
  turn: number,
  isOver: () => boolean | Promise<boolean>,
): Promise<number> {
  const at = performance.now()
  await client.sessions.interrupt({ ref: id })
  await waitFor('what the interrupt ends', isOver, { everyMs: 10 })
  const tookMs = performance.now() - at
  await waitForTurnEnd(client, id, turn, TURN_LIMIT_MS)
  return tookMs
}
