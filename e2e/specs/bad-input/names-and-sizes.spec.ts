import { access, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { runBallet } from '../../support/command-line.ts'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { bash, say, script, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

const ODD = `../../a "b" 'c' $(touch canary) \`touch canary\` ;& | * 🎼 ä\u202e`
/** What would turn the text around it is no part of a name. */
const NAMED = ODD.slice(0, -1)

test('a body of 1 MB reaches the model whole, and the timeline stays light', async ({ bench }) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  const body = `${'0123456789abcde\n'.repeat(65_536)}The end of it. ${script(say('Read.'))}`
  expect(body.length).toBeGreaterThan(1024 * 1024)
  const added = await runBallet(
    [
      ...['ticket', 'add', '--project', 'Shop', '--title', 'Long', '--body', '-', '--start'],
      ...['--data', bench.dataDir, '--json'],
    ],
    { env: bench.env, input: body },
  )
  expect(added.code).toBe(0)
  const { id } = await host.client.sessions.show({ ref: 'SHOP-1' })
  await waitForTurnEnd(host.client, id, 1)
  const session = await host.client.sessions.show({ ref: id })
  const events = await timelineOf(host.client, id)
  checkTimeline(events, session)
  expect(JSON.stringify(events).length).toBeLessThan(150_000)
  const seen = seenIn(requestsOf(bench.model, session.conversation)[0])
  expect(seen.split('0123456789abcde').length - 1).toBe(65_536)
  const [queued] = ofKind(events, 'input.queued')
  const blob = await host.client.timeline.blob({
    session: session.id,
    blob: queued?.textBlob ?? (undefined as never),
  })
  expect(blob.text).toContain(body)
  const [input] = (await host.cli('inputs', id)).rows
  expect(String(input?.text)).toContain(body)
})

test('an output of 5 MB is kept whole beside the timeline', async ({ bench }) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  const { session } = await startTicket(host.client, {
    body: script(
      bash('seq -f "line %.0f" 300000 > big.txt'),
      {
        tool: 'Bash',
        input: { command: 'head -c 200000 big.txt' },
      },
      say('Big.'),
    ),
  })
  await waitForTurnEnd(host.client, session.id, 1)
  const events = await timelineOf(host.client, session.id)
  checkTimeline(events, await host.client.sessions.show({ ref: session.id }))
  expect(JSON.stringify(events).length).toBeLessThan(150_000)
})

test('odd names of projects, tickets, folders and files are names and nothing else', async ({
  bench,
}) => {
  const dataDir = bench.path(`data "x" 'y' ü 🎼`)
  const remote = await bench.remote({
    name: `a "repo" 'with' ü 🎼.git`,
    branch: 'feature/ünder#1',
    files: { [`dir "a"/${'ü'} 🎼.txt`]: 'odd\n', '-n': 'dash\n' },
  })
  const host = await bench.host({ dataDir })
  const added = await host.cli('project', 'add', '--name', ODD, '--repo', remote.path)
  expect(added).toMatchObject({ code: 0, rows: [{ name: NAMED, branch: 'feature/ünder#1' }] })
  const body = script(
    bash('pwd; git status --short; cat -- "dir \\"a\\"/ü 🎼.txt" ./-n'),
    write(`new 'file' "🎼".txt`, 'new\n'),
    say('Read.'),
  )
  const ticket = await host.cli(
    ...['ticket', 'add', '--project', NAMED, '--title', ODD, '--body', body, '--start'],
  )
  expect(ticket).toMatchObject({ code: 0, rows: [{ title: NAMED, project: NAMED }] })
  const key = String(ticket.rows[0]?.key)
  expect(key).toMatch(/^[A-Z][A-Z0-9]*-1$/u)
  const { id } = await host.client.sessions.show({ ref: key })
  await waitForTurnEnd(host.client, id, 1)
  const events = await timelineOf(host.client, id)
  checkTimeline(events, await host.client.sessions.show({ ref: id }))
  expect(ofKind(events, 'tool.result')[0]?.output).toContain('odd\ndash')
  await host.cli('session', 'finish', key)
  const finished = await waitForState(host.client, id, 'finished')
  expect(await remote.listFiles(finished.branch)).toContain(`new 'file' "🎼".txt`)
  const [commit] = await remote.log(finished.branch)
  expect(commit?.subject).toContain('$(touch canary)')

  const everywhere = [bench.folder, bench.home, dataDir, join(dataDir, 'workspaces')]
  for (const folder of everywhere) expect(await readdir(folder)).not.toContain('canary')
  const table = await bench.ballet('project', 'list', '--data', dataDir)
  expect(table.code).toBe(0)
  expect(table.stdout).not.toContain('\u202e')
})

test('a repository whose files lead out of it, or are none, does not stop the work', async ({
  bench,
}) => {
  const outside = bench.path('outside')
  await writeFile(outside, 'mine\n')
  const remote = await bench.remote()
  const host = await bench.host()
  await addProject(host.client, remote.path)
  const { session } = await startTicket(host.client, {
    body: script(
      bash(`ln -s '${outside}' link; mkdir -p nested/empty; mkfifo pipe; ln -s nowhere dangling`),
      say('Done.'),
    ),
  })
  await waitForTurnEnd(host.client, session.id, 1)
  await host.cli('session', 'finish', session.id)
  const finished = await waitForState(host.client, session.id, 'finished')
  expect(await remote.listFiles(finished.branch)).toContain('link')
  await access(outside)
})

test('two projects may not have one name, and one remote may serve two projects', async ({
  bench,
}) => {
  const host = await bench.host()
  const remote = await bench.remote()
  await addProject(host.client, remote.path)
  const same = await host.cli('project', 'add', '--name', 'shop', '--repo', remote.path)
  expect(same).toMatchObject({ code: 1, error: { code: 'project.exists' } })
  expect(
    await host.cli('project', 'add', '--name', 'Shop two', '--repo', remote.path),
  ).toMatchObject({
    code: 0,
  })
})
