import { expect } from '@playwright/test'
import { startModelServer } from '../../model/server.ts'
import { requestsOf, timesSaid } from '../../support/conversation.ts'
import { say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

const failures = [
  { status: 401, retried: false, says: /401|key|log ?in|authenticat/iu },
  { status: 429, retried: true, says: /429|rate|limit/iu },
  { status: 500, retried: true, says: /500|server/iu },
]

for (const { status, retried, says } of failures) {
  test(`${status} from the model ends the turn with the reason, and the next message works`, async ({
    bench,
  }) => {
    const { client } = await bench.host()
    const env = retried ? { CLAUDE_CODE_MAX_RETRIES: '2' } : {}
    await addProject(client, (await bench.remote()).path, { env })
    const { session } = await startTicket(client, {
      body: `Ticket-word. ${script({ fail: [{ status }], text: 'Never.' })}`,
    })
    const { id } = session
    const ended = await waitForTurnEnd(client, id, 1)
    expect(ended.reason).toMatch(/^(failed|limit)$/u)
    expect(ended.detail).toMatch(says)
    expect(ended.hint ?? '').not.toBe('')
    const waiting = await client.sessions.show({ ref: id })
    expect(waiting).toMatchObject({ state: 'waiting', agent: 'agent-1' })
    expect(waiting.reason).toMatch(says)
    expect(waiting.hint).not.toBe('')
    const events = await timelineOf(client, id)
    checkTimeline(events, waiting)
    const retries = ofKind(events, 'notice').filter(({ code }) => code === 'model.retry')
    if (retried) expect(retries.length).toBeGreaterThanOrEqual(2)
    for (const retry of retries) expect(retry.text).toMatch(says)

    await client.sessions.send({ ref: id, text: `Next-word. ${script(say('Works again.'))}` })
    await waitForTurnEnd(client, id, 2)
    const after = await client.sessions.show({ ref: id })
    const all = await timelineOf(client, id)
    checkTimeline(all, after)
    expect(after.reason).toBe('')
    expect(ofKind(all, 'assistant.text').at(-1)?.text).toBe('Works again.')
    const last = requestsOf(bench.model, after.conversation).at(-1)
    expect(timesSaid(last, 'Ticket-word.')).toBe(1)
    expect(timesSaid(last, 'Next-word.')).toBe(1)
  })
}

test('a model that fails once is asked again, and the timeline says so', async ({ bench }) => {
  const { client } = await bench.host()
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, {
    body: script({ fail: [{ status: 529, times: 1 }], text: 'Second try.' }),
  })
  await waitForTurnEnd(client, session.id, 1)
  const events = await timelineOf(client, session.id)
  checkTimeline(events, await client.sessions.show({ ref: session.id }))
  expect(ofKind(events, 'turn.ended')).toMatchObject([{ reason: 'completed' }])
  expect(ofKind(events, 'notice').filter(({ code }) => code === 'model.retry')).toHaveLength(1)
})

test('a model that refuses the connection is named, and an interrupt ends the retries at once', async ({
  bench,
}) => {
  const gone = await startModelServer()
  await gone.close()
  const host = await bench.host({ env: { ANTHROPIC_BASE_URL: gone.url } })
  const { client } = host
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, { body: `Ticket-word. ${script(say('Never.'))}` })
  const { id } = session
  await waitForEvent(client, id, 'notice', ({ code }) => code === 'model.retry')
  const at = performance.now()
  await client.sessions.interrupt({ ref: id })
  await waitForTurnEnd(client, id, 1)
  expect(performance.now() - at).toBeLessThan(3_000)
  const waiting = await client.sessions.show({ ref: id })
  checkTimeline(await timelineOf(client, id), waiting)

  const back = await startModelServer({ port: gone.port })
  bench.atEnd(() => back.close())
  await client.sessions.send({ ref: id, text: `Next-word. ${script(say('Works again.'))}` })
  await waitForTurnEnd(client, id, 2)
  const last = requestsOf(back, waiting.conversation).at(-1)
  expect(timesSaid(last, 'Ticket-word.')).toBe(1)
  expect(timesSaid(last, 'Next-word.')).toBe(1)
})

test('a model that refuses the connection to the end fails the turn, with a next step', async ({
  bench,
}) => {
  const gone = await startModelServer()
  await gone.close()
  const env = { ANTHROPIC_BASE_URL: gone.url }
  const { client } = await bench.host({ env })
  await addProject(client, (await bench.remote()).path, { env: { CLAUDE_CODE_MAX_RETRIES: '1' } })
  const { session } = await startTicket(client, { body: script(say('Never.')) })
  const ended = await waitForTurnEnd(client, session.id, 1)
  expect(ended).toMatchObject({ reason: 'failed', detail: expect.stringMatching(/connect/iu) })
  expect(ended.hint ?? '').not.toBe('')
})

test('a connection that breaks in the middle of an answer is retried without doubling text', async ({
  bench,
}) => {
  const { client } = await bench.host()
  await addProject(client, (await bench.remote()).path)
  const text = Array.from({ length: 50 }, (_, index) => `part${index}`).join(' ')
  const { session } = await startTicket(client, { body: script({ text, chunks: 10, cut: 1 }) })
  await waitForTurnEnd(client, session.id, 1)
  const events = await timelineOf(client, session.id)
  checkTimeline(events, await client.sessions.show({ ref: session.id }))
  const whole = ofKind(events, 'assistant.text').filter(({ partial }) => partial !== true)
  expect(whole.map((event) => event.text)).toEqual([text])
})
