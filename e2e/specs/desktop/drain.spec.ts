import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { serious } from '../../support/accessibility.ts'
import { ask } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { runByName } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

const COLOUR = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }

async function started(client: BalletClient, body: string): Promise<Session> {
  return (await startTicket(client, { body })).session
}

const numberOf = ({ agent }: Session) => String(agent).replace('agent-', '')

test('agents are drained and taken back in the window, and the fleet grows meanwhile', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  await client.settings.edit({ agents: 2, drainGraceSeconds: 300 })
  await addProject(client, (await bench.remote()).path, { planner: false, window: 'never' })
  const gate = bench.path('gate')
  const { id: asking } = await started(client, script(ask(COLOUR), say('I asked.')))
  const { id: working } = await started(client, script(bash(untilFile(gate)), say('Over.')))
  await waitForTurnEnd(client, asking, 1, 60_000)
  await waitForEvent(client, working, 'tool.call', () => true, { timeoutMs: 60_000 })
  const asked = await client.sessions.show({ ref: asking })
  const busy = await client.sessions.show({ ref: working })

  await runByName(window, 'Fleet')
  const row = (session: Session) => window.locator(`tr[data-agent="${session.agent}"]`)
  await row(asked)
    .getByRole('button', { name: `Drain agent ${numberOf(asked)}` })
    .click()
  await expect(row(asked)).toContainText('drained', { timeout: 30_000 })
  await expect(row(asked)).toContainText('none')
  expect(await waitForState(client, asking, 'parked')).toMatchObject({
    ...{ agent: null, openQuestions: 1, parked: { why: 'drain', wakes: false } },
  })

  await row(busy)
    .getByRole('button', { name: `Drain agent ${numberOf(busy)}` })
    .click()
  await expect(row(busy)).toContainText('takes no more sessions; ends when it is free')
  const draining = window.getByRole('region', { name: 'Sessions that are drained' })
  await expect(draining).toContainText(busy.ticket)
  await expect(draining).toContainText('working ·')
  expect(await serious(window)).toEqual([])
  const { id: next } = await started(client, script(say('At last.')))
  await expect(window.getByText('1 session waiting for an agent')).toBeVisible()

  // A larger fleet takes it; those that are drained stay so.
  await window.getByRole('button', { name: 'One agent more' }).click()
  await waitForTurnEnd(client, next, 1, 60_000)
  expect(await client.sessions.show({ ref: next })).toMatchObject({ agent: 'agent-3' })
  await expect(row(asked)).toContainText('drained')

  await row(busy)
    .getByRole('button', { name: `Let agent ${numberOf(busy)} take sessions again` })
    .click()
  await expect(draining).toHaveCount(0)
  await expect(row(busy)).toContainText('busy')
  expect(await client.sessions.show({ ref: working })).toMatchObject({ state: 'working', turn: 1 })
  await writeFile(gate, '')
  await waitForTurnEnd(client, working, 1)
  expect(await client.sessions.show({ ref: working })).toMatchObject({
    ...{ state: 'waiting', agent: busy.agent },
  })

  const [question] = await client.questions.list({ session: asking })
  await client.questions.answer({ ref: question?.id ?? 'none', options: [2] })
  await waitForState(client, asking, 'resuming')
  await window.getByRole('button', { name: 'Take all back' }).click()
  await waitForTurnEnd(client, asking, 2, 60_000)
  expect(await client.sessions.show({ ref: asking })).toMatchObject({
    ...{ agent: asked.agent, conversation: asked.conversation },
  })
  expect(seenIn(requestsOf(bench.model, asked.conversation).at(-1))).toContain('Answer: Blue')
  for (const id of [asking, working, next]) {
    checkTimeline(await timelineOf(client, id), await client.sessions.show({ ref: id }))
  }
})
