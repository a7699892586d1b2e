import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { ask, waitForQuestions } from '../../support/asking.ts'
import { TURN_LIMIT_MS } from '../../support/conformance.ts'
import { makeRuntimes, testedRuntime, useRuntimes } from '../../support/runtimes.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  showEvents,
  timelineOf,
  waitForEvent,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

/** In the order in which they are started: a command of Codex is waited for no longer than half a minute. */
const BY_STAGE = [
  { stage: 'document', runtime: testedRuntime('opencode') },
  { stage: 'implement', runtime: testedRuntime('claude-code') },
  { stage: 'review', runtime: testedRuntime('codex') },
]

test('three runtimes work at once in one window: each works, asks, and goes on with its answer', async ({
  bench,
}, testInfo) => {
  test.slow()
  const runtimes = await makeRuntimes(
    bench,
    BY_STAGE.map(({ runtime }) => runtime),
  )
  await useRuntimes(bench.dataDir, runtimes, { agents: 3, answerUndo: false })
  const desktop = await bench.desktop({ env: runtimes.env })
  const client = await desktop.client()
  const { window } = desktop
  const stages = Object.fromEntries(
    BY_STAGE.map(({ stage, runtime }) => [stage, { runtime: runtime.runtime }]),
  )
  await addProject(client, (await bench.remote()).path, { planner: false, window: 'never', stages })
  const done = bench.path('done')
  const sessions: Session[] = []
  for (const { stage, runtime } of BY_STAGE) {
    const question = {
      question: `Which colour has ${stage}?`,
      options: [{ label: 'Red' }, { label: 'Blue' }],
    }
    const steps = [bash(untilFile(done), `I ${stage}.`), ask(question), say(`I asked as ${stage}.`)]
    const { key } = await client.tickets.add({
      ...{ project: 'Shop', title: `To ${stage}`, body: script(...steps), stage, start: true },
    })
    const session = await client.sessions.show({ ref: key })
    expect(session.runtime).toBe(runtime.runtime)
    sessions.push(session)
    await waitForEvent(client, session.id, 'tool.call', undefined, { timeoutMs: TURN_LIMIT_MS })
  }

  const states = (await client.sessions.list()).map(({ state }) => state)
  expect(states).toEqual(['working', 'working', 'working'])
  await writeFile(done, '')
  for (const { id } of sessions) await waitForTurnEnd(client, id, 1, TURN_LIMIT_MS)
  for (const [index, session] of sessions.entries()) {
    const [question] = await waitForQuestions(client, session.id, 1)
    await client.questions.answer({
      ...{ ref: question?.id ?? '', options: [2], text: script(say(`Blue for ${index}.`)) },
    })
  }
  for (const [index, { id, ticket }] of sessions.entries()) {
    await waitForTurnEnd(client, id, 2, TURN_LIMIT_MS)
    await window.getByRole('treeitem', { name: new RegExp(ticket, 'u') }).click()
    const timeline = timelineRegion(window)
    await expect(timeline).toHaveAttribute('data-session', id)
    const stage = BY_STAGE[index]?.stage ?? ''
    for (const text of [`I ${stage}.`, `I asked as ${stage}.`, `Blue for ${index}.`]) {
      await expect(timeline.getByText(text, { exact: true })).toBeVisible()
    }
    const body = await window.screenshot()
    await testInfo.attach(stage, { body, contentType: 'image/png' })
    const events = await timelineOf(client, id)
    checkTimeline(events, await client.sessions.show({ ref: id }))
    expect(showEvents(events)).toContain('"author":"person"')
  }
})
