import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
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

test('three sessions run at once on three agents, a fourth waits until one is finished', async ({
  bench,
}) => {
  const { client } = await bench.host({ agents: 3 })
  await addProject(client, (await bench.remote()).path)
  const go = (n: number) => bench.path(`go-${n}`)
  const sessions = []
  for (const n of [1, 2, 3, 4]) {
    const { session } = await startTicket(client, {
      title: `Work ${n}`,
      body: script(bash(untilFile(go(n))), bash(`echo output-${n}; pwd`), say(`Done ${n}.`)),
    })
    sessions.push(session)
  }
  const [one, two, three, four] = sessions.map(({ id }): string => id) as [
    string,
    string,
    string,
    string,
  ]
  for (const id of [one, two, three]) await waitForState(client, id, 'working')
  expect(await client.sessions.show({ ref: four })).toMatchObject({
    state: 'queued',
    agent: null,
    reason: 'waits for an agent: 3 of 3 agents hold sessions',
  })
  const agents = await client.agents.list()
  expect(agents.map(({ id, state }) => `${id} ${state}`)).toEqual([
    'agent-1 busy',
    'agent-2 busy',
    'agent-3 busy',
  ])
  expect(new Set(agents.map(({ session }) => session))).toEqual(new Set([one, two, three]))
  expect(new Set(agents.map(({ pid }) => pid)).size).toBe(3)

  await writeFile(go(2), '')
  await waitForTurnEnd(client, two, 1)
  // A session that waits for its next message keeps its agent.
  expect((await client.sessions.show({ ref: four })).state).toBe('queued')
  await client.sessions.finish({ ref: two })
  await waitForState(client, two, 'finished')
  await waitForState(client, four, 'working')
  for (const n of [1, 3, 4]) await writeFile(go(n), '')
  for (const id of [one, three, four]) await waitForTurnEnd(client, id, 1)

  const workspaces = new Set<string>()
  for (const [index, id] of [one, two, three, four].entries()) {
    const session = await client.sessions.show({ ref: id })
    const events = await timelineOf(client, id)
    checkTimeline(events, session)
    const output = ofKind(events, 'tool.result').at(-1)?.output ?? ''
    expect(output).toContain(`output-${index + 1}`)
    workspaces.add(output.split('\n')[1] ?? '')
    expect(seenIn(requestsOf(bench.model, session.conversation).at(-1))).toContain(
      `Work ${index + 1}`,
    )
  }
  expect(workspaces.size).toBe(4)
})

test('what waits is taken by priority, then by age', async ({ bench }) => {
  const { client } = await bench.host({ agents: 1 })
  await addProject(client, (await bench.remote()).path)
  const begun = async (title: string, priority: number) =>
    (await startTicket(client, { title, priority, body: script(say('Done.')) })).session.id
  const first = await begun('first', 5)
  await waitForTurnEnd(client, first, 1)
  const older = await begun('older', 3)
  const newer = await begun('newer', 3)
  const urgent = await begun('urgent', 1)
  const order = [first, urgent, older, newer]
  for (const [index, id] of order.entries()) {
    await waitForTurnEnd(client, id, 1)
    for (const later of order.slice(index + 1)) {
      expect((await client.sessions.show({ ref: later })).state).toBe('queued')
    }
    await client.sessions.finish({ ref: id })
    await waitForState(client, id, 'finished')
  }
})

test('a project with a limit leaves agents to the others', async ({ bench }) => {
  const { client } = await bench.host({ agents: 2 })
  const remote = await bench.remote()
  await addProject(client, remote.path, { name: 'Shop', maxSessions: 1 })
  await addProject(client, remote.path, { name: 'Other' })
  const body = script(say('Done.'))
  const one = await startTicket(client, { body })
  const two = await startTicket(client, { body, priority: 1 })
  const other = await startTicket(client, { body, project: 'Other', priority: 5 })
  await waitForTurnEnd(client, one.session.id, 1)
  await waitForTurnEnd(client, other.session.id, 1)
  expect((await client.sessions.show({ ref: two.session.id })).state).toBe('queued')
  await client.sessions.finish({ ref: one.session.id })
  await waitForTurnEnd(client, two.session.id, 1)
})
