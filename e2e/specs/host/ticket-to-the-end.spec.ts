import { access, readFile, writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import { bash, say, script, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import { ofKind, timelineOf, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

test('a ticket runs to its end, by the command line alone', async ({ bench }) => {
  const remote = await bench.remote({ files: { 'greeting.txt': 'hello\n' } })
  const host = await bench.host()

  const added = await host.cli('project', 'add', '--name', 'Shop', '--repo', remote.url)
  expect(added).toMatchObject({
    code: 0,
    rows: [
      {
        name: 'Shop',
        repo: remote.url,
        branch: 'main',
        runtime: 'claude-code',
        permission: 'full',
        window: '10m',
      },
    ],
  })
  const body = `Be polite. ${script(
    bash('cat greeting.txt', 'I look first.'),
    {
      tool: 'Edit',
      input: { file_path: '{{cwd}}/greeting.txt', old_string: 'hello', new_string: 'good day' },
    },
    write('new/note.md', '# Note\n'),
    say('The greeting is polite now.'),
  )}`
  const ticket = await host.cli(
    ...['ticket', 'add', '--project', 'Shop', '--title', 'Polite greeting', '--body', body],
    ...['--priority', '2', '--start'],
  )
  expect(ticket.code).toBe(0)
  const key = String(ticket.rows[0]?.key)
  expect(ticket.rows[0]).toMatchObject({
    key: expect.stringMatching(/^[A-Z][A-Z0-9]*-1$/u),
    project: 'Shop',
    title: 'Polite greeting',
    stage: 'implement',
    priority: 2,
  })
  const { id } = await host.client.sessions.show({ ref: key })
  const ended = await waitForTurnEnd(host.client, id, 1)
  expect(ended).toMatchObject({ reason: 'completed', costUsd: expect.any(Number) })
  expect(ended.costUsd).toBeGreaterThan(0)
  expect(ended.usage.outputTokens).toBeGreaterThan(0)

  const shown = await host.cli('session', 'show', id.slice(0, 30))
  expect(shown.rows).toMatchObject([
    {
      id,
      ticket: key,
      project: 'Shop',
      stage: 'implement',
      runtime: 'claude-code',
      conversation: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      state: 'waiting',
      agent: 'agent-1',
      branch: expect.stringMatching(new RegExp(`^ballet/${key}-[0-9a-f]{6}$`, 'u')),
      openQuestions: 0,
      runtimeVersion: '2.1.332',
    },
  ])
  expect(Number(shown.rows[0]?.costUsd)).toBeCloseTo(ended.costUsd, 8)
  expect((await host.cli('ticket', 'show', key)).rows[0]).toMatchObject({ status: 'In progress' })
  const agents = await host.cli('agents')
  expect(agents.rows).toMatchObject([{ id: 'agent-1', state: 'busy', session: id }])
  const workspace = String(shown.rows[0]?.workspace)
  await access(workspace)
  expect(await remote.branches()).toEqual(['main'])

  const finished = await host.cli('session', 'finish', key)
  expect(finished.code).toBe(0)
  const session = await waitForState(host.client, id, 'finished')
  expect(await remote.branches()).toEqual([session.branch, 'main'])
  expect(await remote.readFile(session.branch, 'greeting.txt')).toBe('good day\n')
  expect(await remote.readFile(session.branch, 'new/note.md')).toBe('# Note\n')
  expect(await remote.readFile('main', 'greeting.txt')).toBe('hello\n')
  const [commit, ...earlier] = await remote.log(session.branch)
  expect(earlier.map(({ subject }) => subject)).toEqual(['First commit'])
  expect(commit?.subject).toContain('Polite greeting')
  expect(commit?.author).toBe('Sample Person <person@example.org>')
  await expect(access(workspace)).rejects.toThrow('ENOENT')
  expect((await host.cli('agents')).rows).toMatchObject([{ state: 'idle', session: null }])
  expect((await host.cli('ticket', 'show', key)).rows[0]?.status).toMatch(/^(Review|Done)$/u)

  const events = await timelineOf(host.client, id)
  checkTimeline(events, session)
  const printed = await host.cli('session', 'events', id)
  expect(printed.rows).toEqual(JSON.parse(JSON.stringify(events)))
  const tail = await host.cli('session', 'events', id, '--from', String(events.length - 2))
  expect(tail.rows).toEqual(printed.rows.slice(-3))
  expect(ofKind(events, 'assistant.text').map(({ text }) => text)).toEqual([
    'I look first.',
    'The greeting is polite now.',
  ])
  expect(ofKind(events, 'tool.call')).toMatchObject([
    { name: 'Bash', toolKind: 'execute', title: expect.stringContaining('cat greeting.txt') },
    { name: 'Edit', toolKind: 'edit' },
    { name: 'Write', toolKind: 'edit' },
  ])
  const [cat, edit, written] = ofKind(events, 'tool.result')
  expect(cat).toMatchObject({ status: 'ok', output: expect.stringContaining('hello') })
  expect(edit).toMatchObject({ status: 'ok', diff: [{ added: 1, removed: 1 }] })
  expect(edit?.diff?.[0]?.patch).toContain('+good day')
  expect(written).toMatchObject({ status: 'ok', diff: [{ added: 1, removed: 0 }] })
  expect(ofKind(events, 'cost').at(-1)?.costUsd).toBeGreaterThan(0)

  const requests = requestsOf(bench.model, session.conversation)
  expect(requests).toHaveLength(4)
  expect(seenIn(requests[0])).toContain('Polite greeting')
  expect(timesSaid(requests.at(-1), 'Be polite.')).toBe(1)
  await expectNoLeftovers(bench, host.client)
})

test('finishing a session without any change pushes nothing and frees the agent', async ({
  bench,
}) => {
  const remote = await bench.remote()
  const host = await bench.host()
  await host.cli('project', 'add', '--name', 'Shop', '--repo', remote.path)
  const made = await host.cli('ticket', 'add', '--project', 'Shop', '--title', 'Look', '--start')
  const key = String(made.rows[0]?.key)
  const { id } = await host.client.sessions.show({ ref: key })
  await waitForTurnEnd(host.client, id, 1)
  const finished = await host.cli('session', 'finish', id)
  expect(finished).toMatchObject({
    code: 0,
    rows: [{ reason: expect.stringContaining('no branch') }],
  })
  const session = await waitForState(host.client, id, 'finished')
  expect(session.pushedCommit).toBeUndefined()
  checkTimeline(await timelineOf(host.client, id), session)
  for (const branch of await remote.branches()) {
    expect((await remote.log(branch)).map(({ subject }) => subject)).toEqual(['First commit'])
  }
})

test.describe('the set-up command', () => {
  test('prepares the workspace before the first turn, with its output in the timeline', async ({
    bench,
  }) => {
    const remote = await bench.remote()
    const host = await bench.host()
    const setup = 'echo "made by set-up: $COLOUR"; echo warned >&2; echo "$COLOUR" > .prepared'
    await host.cli(
      ...['project', 'add', '--name', 'Shop', '--repo', remote.path, '--setup', setup],
      ...['--env', 'COLOUR=green'],
    )
    const body = script(bash('cat .prepared; echo "colour=$COLOUR"'), say('Seen.'))
    await host.cli('ticket', 'add', '--project', 'Shop', '--title', 'T', '--body', body, '--start')
    const [session] = await host.client.sessions.list()
    const id = session?.id ?? ''
    await waitForTurnEnd(host.client, id, 1)
    const events = await timelineOf(host.client, id)
    const turn = events.findIndex(({ kind }) => kind === 'turn.started')
    const before = JSON.stringify(events.slice(0, turn))
    expect(before).toContain('made by set-up: green')
    expect(before).toContain('warned')
    const output = ofKind(events, 'tool.result').find(({ turn }) => turn === 1)?.output
    expect(output).toContain('green')
    expect(output).toContain('colour=green')
    expect((await host.cli('project', 'show', 'Shop')).stdout).not.toContain('green"')
  })

  test('that fails keeps the session from starting, and says what it printed', async ({
    bench,
  }) => {
    const remote = await bench.remote()
    const host = await bench.host()
    await host.client.projects.add({
      name: 'Shop',
      repo: remote.path,
      setup: `[ -e '${bench.path('allow')}' ] || { echo 'no compiler here'; exit 3; }`,
    })
    const ticket = await host.client.tickets.add({ project: 'Shop', title: 'T', start: true })
    const failed = await waitForState(host.client, ticket.key, 'failed')
    expect(failed.reason).toContain('3')
    expect(failed.hint).not.toBe('')
    expect(failed.agent).toBeNull()
    const events = await timelineOf(host.client, failed.id)
    expect(JSON.stringify(events)).toContain('no compiler here')
    checkTimeline(events, failed)
    expect(requestsOf(bench.model, failed.conversation)).toEqual([])

    await writeFile(bench.path('allow'), '')
    await host.client.tickets.start({ ref: ticket.key })
    await waitForTurnEnd(host.client, failed.id, 1)
    const session = await host.client.sessions.show({ ref: failed.id })
    checkTimeline(await timelineOf(host.client, failed.id), session)
  })

  test('that takes too long is ended with everything that it started', async ({ bench }) => {
    const remote = await bench.remote()
    const host = await bench.host()
    await host.client.projects.add({
      name: 'Shop',
      repo: remote.path,
      setup: `echo begun; setsid sleep 311 & echo $! > '${bench.path('pid')}'; sleep 312`,
      setupLimit: '5s',
    })
    const ticket = await host.client.tickets.add({ project: 'Shop', title: 'T', start: true })
    const failed = await waitForState(host.client, ticket.key, 'failed')
    expect(`${failed.reason} ${failed.hint}`).toMatch(/5 ?s|limit|long/u)
    expect(JSON.stringify(await timelineOf(host.client, failed.id))).toContain('begun')
    expect(await readFile(bench.path('pid'), 'utf8')).toMatch(/\d/u)
    await waitFor('both to be gone', async () =>
      (await bench.processes()).every(({ command }) => !command.startsWith('sleep 31')),
    )
  })
})
