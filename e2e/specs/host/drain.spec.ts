import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import type { Agent, Session } from '../../../src-shared/records.ts'
import { ask } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

const COLOUR = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }

async function startAsking(client: BalletClient): Promise<Session> {
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(ask(COLOUR), say('I asked.'))}`,
  })
  await waitForTurnEnd(client, session.id, 1)
  return client.sessions.show({ ref: session.id })
}

/** A session whose turn runs until a file is there. */
async function startWorking(client: BalletClient, file: string): Promise<Session> {
  const { session } = await startTicket(client, {
    body: script(bash(untilFile(file)), say('Over.')),
  })
  await waitForEvent(client, session.id, 'tool.call')
  return client.sessions.show({ ref: session.id })
}

async function agentOf(client: BalletClient, id: string | null): Promise<Agent | undefined> {
  return (await client.agents.list()).find((agent) => agent.id === id)
}

const numberOf = (id: string | null) => String(id).replace('agent-', '')

test('a drained agent parks its session and takes no other until that is taken back', async ({
  bench,
}) => {
  const { client, cli } = await bench.host({ agents: 2 })
  await addProject(client, (await bench.remote()).path, { planner: false, window: '10m' })
  const asked = await startAsking(client)
  const kept = await cli('keep', 'SHOP-1', '--for', '2h')
  expect(kept.code, kept.stderr).toBe(0)
  const { parkAt } = await client.sessions.show({ ref: asked.id })
  expect(kept.rows).toMatchObject([{ id: asked.id, parkAt }])
  expect(Date.parse(parkAt ?? '') - Date.now()).toBeGreaterThan(110 * 60_000)

  expect(await cli('drain', '--agent', '9')).toMatchObject({ code: 1 })
  const drained = await cli('drain', '--agent', numberOf(asked.agent))
  expect(drained.code, drained.stderr).toBe(0)
  expect(drained.rows).toMatchObject([{ id: asked.agent, session: null }])
  expect(await waitForState(client, asked.id, 'parked')).toMatchObject({
    agent: null,
    openQuestions: 1,
    parked: { why: 'drain', wakes: false, pushed: true },
  })
  expect(await cli('keep', 'SHOP-1')).toMatchObject({ code: 1 })
  await waitFor('the drained agent to be gone', async () => {
    const agent = await agentOf(client, asked.agent)
    return agent?.state === 'offline' && agent.reason.startsWith('drained')
  })

  // Of the other agent: what it holds, what is answered, and what is new.
  const gate = bench.path('gate')
  const working = await startWorking(client, gate)
  expect(working.agent).not.toBe(asked.agent)
  const { session: fresh } = await startTicket(client, { body: script(say('At last.')) })
  await cli('answer', 'SHOP-1-Q1', '--option', '2', script(say('Blue it is.')))
  await waitForState(client, asked.id, 'resuming')
  await client.sessions.park({ ref: working.id })
  await writeFile(gate, '')
  await waitForState(client, working.id, 'parked')
  await waitForTurnEnd(client, asked.id, 2)
  const back = await client.sessions.show({ ref: asked.id })
  expect(back).toMatchObject({ agent: working.agent, conversation: asked.conversation })
  const last = requestsOf(bench.model, asked.conversation).at(-1)
  expect(seenIn(last)).toContain('Answer: Blue')
  expect(timesSaid(last, 'Ticket-word.')).toBe(1)
  // No agent took it: one is drained, one waits for a person.
  expect(await client.sessions.show({ ref: fresh.id })).toMatchObject({
    state: 'queued',
    agent: null,
  })
  expect(await agentOf(client, asked.agent)).toMatchObject({ state: 'offline', pid: null })

  const again = await cli('drain', '--agent', numberOf(asked.agent), '--cancel')
  expect(again.code, again.stderr).toBe(0)
  await waitForTurnEnd(client, fresh.id, 1)
  expect(await client.sessions.show({ ref: fresh.id })).toMatchObject({ agent: asked.agent })
  for (const { id } of [asked, working, fresh]) {
    checkTimeline(await timelineOf(client, id), await client.sessions.show({ ref: id }))
  }
})

test('the fleet grows and shrinks while an agent is drained', async ({ bench }) => {
  const { client, cli } = await bench.host({ agents: 2 })
  await client.settings.edit({ drainGraceSeconds: 300 })
  await addProject(client, (await bench.remote()).path, { planner: false, window: 'never' })
  const gate = bench.path('gate')
  const sessions = [await startWorking(client, gate), await startWorking(client, gate)]
  const heldBy = (agent: string) => {
    const session = sessions.find((each) => each.agent === agent)
    if (session === undefined) throw new Error(`${agent} holds no session`)
    return session
  }
  const [first, second] = [heldBy('agent-1'), heldBy('agent-2')]
  const stateOf = async (id: string) => (await agentOf(client, id))?.state
  await client.agents.drain({ agent: 'agent-1', how: 'gently' })
  expect(await stateOf('agent-1')).toBe('draining')
  await cli('settings', 'set', 'agents', '1')
  await waitFor('the second to drain', async () => (await stateOf('agent-2')) === 'draining')
  // Its turn goes on: as many agents and one more are wanted again.
  await cli('settings', 'set', 'agents', '3')
  await waitFor('the second to stay', async () => (await stateOf('agent-2')) === 'busy')
  expect(await stateOf('agent-1')).toBe('draining')
  const third = await startAsking(client)
  expect(third.agent).toBe('agent-3')

  await writeFile(gate, '')
  expect(await waitForState(client, first.id, 'parked')).toMatchObject({
    turn: 1,
    parked: { why: 'drain', wakes: false },
  })
  await waitForTurnEnd(client, second.id, 1)
  expect(await client.sessions.show({ ref: second.id })).toMatchObject({ agent: 'agent-2' })
  await cli('settings', 'set', 'agents', '1')
  for (const { id } of [second, third]) await waitForState(client, id, 'parked')
  await waitFor('one agent to be left', async () => (await client.agents.list()).length === 1)
  expect(await agentOf(client, 'agent-1')).toMatchObject({ state: 'offline', session: null })

  await client.sessions.send({ ref: second.id, text: script(say('I go on.')) })
  await waitForState(client, second.id, 'resuming')
  await cli('drain', '--agent', '1', '--cancel')
  await waitForTurnEnd(client, second.id, 2)
  expect(await client.sessions.show({ ref: second.id })).toMatchObject({
    agent: 'agent-1',
    conversation: second.conversation,
  })
  for (const { id } of [first, second, third]) {
    checkTimeline(await timelineOf(client, id), await client.sessions.show({ ref: id }))
  }
})
