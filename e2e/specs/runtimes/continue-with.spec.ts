import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { TURN_LIMIT_MS } from '../../support/conformance.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import { isAlive } from '../../support/process-tree.ts'
import { makeRuntimes, testedRuntime, useRuntimes } from '../../support/runtimes.ts'
import { bash, say, script, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

test('a session goes on with another runtime, in the middle of a turn and out of parking, in the same workspace', async ({
  bench,
}) => {
  test.setTimeout(180_000)
  const runtimes = await makeRuntimes(bench, [testedRuntime('claude-code'), testedRuntime('codex')])
  await useRuntimes(bench.dataDir, runtimes)
  const { client, cli } = await bench.host({ env: runtimes.env, agents: 2 })
  const remote = await bench.remote()
  await addProject(client, remote.path, { planner: false, window: 'never', model: 'opus' })
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(
      write('note.txt', 'by the first\n'),
      bash('sleep 300'),
      say('Never said.'),
    )}`,
  })
  const { id } = session
  await waitForEvent(client, id, 'tool.call', ({ toolKind }) => toolKind === 'execute', {
    timeoutMs: TURN_LIMIT_MS,
  })
  const sleeper = await bench.process('sleep 300')
  await client.sessions.send({ ref: id, text: `Queued-word. ${script(say('Codex is here.'))}` })
  const before = await client.sessions.show({ ref: id })
  const told = await cli('continue', id, '--with', 'codex')
  expect(told.code, told.stderr).toBe(0)
  await waitForTurnEnd(client, id, 2, TURN_LIMIT_MS)

  const after = await client.sessions.show({ ref: id })
  expect(after).toMatchObject({
    ...{ id, state: 'waiting', runtime: 'codex', model: null, turn: 2 },
    ...{ workspace: before.workspace, branch: before.branch },
  })
  expect(after.conversation).not.toBe(before.conversation)
  expect(await isAlive(sleeper)).toBe(false)
  await access(join(after.workspace ?? '', 'note.txt'))
  const first = requestsOf(bench.model, after.conversation)[0]
  for (const word of ['Ticket-word.', 'Queued-word.']) expect(timesSaid(first, word)).toBe(1)
  expect(seenIn(first)).toContain('The agent before you used')
  const events = await timelineOf(client, id)
  checkTimeline(events, after)
  expect(ofKind(events, 'turn.ended')[0]?.reason).toBe('interrupted')
  expect(ofKind(events, 'runtime.changed')).toMatchObject([
    { from: 'claude-code', to: 'codex', model: null, conversation: before.conversation },
  ])

  // Out of parking: restored without the state of the other one.
  await client.sessions.park({ ref: id })
  await waitForState(client, id, 'parked')
  await client.sessions.continueWith({ ref: id, runtime: 'claude-code' })
  await client.sessions.send({ ref: id, text: `Third-word. ${script(say('Claude is back.'))}` })
  await waitForTurnEnd(client, id, 3, TURN_LIMIT_MS)
  const last = await client.sessions.show({ ref: id })
  expect(last).toMatchObject({ runtime: 'claude-code', model: 'opus', workspace: before.workspace })
  await access(join(last.workspace ?? '', 'note.txt'))
  const back = requestsOf(bench.model, last.conversation)[0]
  for (const word of ['Ticket-word.', 'Third-word.']) expect(timesSaid(back, word)).toBe(1)
  expect(seenIn(back)).toContain('Codex is here.')

  // What each of them keeps goes with the ticket.
  await client.sessions.stop({ ref: id })
  await waitForState(client, id, 'parked')
  await client.tickets.delete({ ref: session.ticket })
  for (const home of ['claude-code', 'codex']) {
    const files = await readdir(bench.path(join('homes', home)), { recursive: true })
    const ofConversations = [before, after, last].flatMap(({ conversation }) =>
      files.filter((file) => file.includes(conversation ?? 'none')),
    )
    expect(ofConversations, home).toEqual([])
  }
  await expectNoLeftovers(bench, client)
})
