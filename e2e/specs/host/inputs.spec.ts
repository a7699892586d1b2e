import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { IMAGE_LIMITS } from '../../../src-shared/contract.ts'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForNothingOpen,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A session in the middle of a tool that ends when `go` is called. */
async function inTool(bench: Workbench, ...after: ReturnType<typeof say>[]) {
  const done = bench.path('done')
  const remote = await bench.remote()
  const host = await bench.host()
  await addProject(host.client, remote.path)
  const steps = after.length === 0 ? [say('Turn one is over.')] : after
  const { session } = await startTicket(host.client, {
    body: script(bash(untilFile(done)), ...steps),
  })
  await waitForEvent(host.client, session.id, 'tool.call')
  return { host, client: host.client, id: session.id, go: () => writeFile(done, '') }
}

async function checked({ client, id }: Awaited<ReturnType<typeof inTool>>, bench: Workbench) {
  const session = await client.sessions.show({ ref: id })
  const events = await timelineOf(client, id)
  checkTimeline(events, session)
  return { session, events, requests: requestsOf(bench.model, session.conversation) }
}

test('queued messages are edited, cancelled and reordered: the model sees what is left', async ({
  bench,
}) => {
  const running = await inTool(bench)
  const { host, client, id, go } = running
  const [red, gone, last] = await Promise.all(
    ['red-word', 'gone-word', 'last-word'].map((text) => client.sessions.send({ ref: id, text })),
  )
  expect(await host.cli('input', 'edit', red?.id ?? '', 'blue-word')).toMatchObject({
    code: 0,
    rows: [{ id: red?.id, state: 'queued', text: 'blue-word' }],
  })
  expect(await host.cli('input', 'cancel', gone?.id ?? '')).toMatchObject({
    code: 0,
    rows: [{ state: 'cancelled' }],
  })
  expect(await host.cli('input', 'move', last?.id ?? '', '--before', red?.id ?? '')).toMatchObject({
    code: 0,
  })
  await go()
  await waitForTurnEnd(client, id, 2)
  const { requests, events } = await checked(running, bench)
  const seen = seenIn(requests.at(-1))
  expect(seen).toMatch(/last-word\s+blue-word/u)
  expect(seen).not.toContain('red-word')
  expect(seen).not.toContain('gone-word')
  expect(ofKind(events, 'turn.started')[1]?.inputs).toEqual([last?.id, red?.id])
  const late = await host.cli('input', 'edit', red?.id ?? '', 'too late')
  expect(late.code).toBe(1)
  expect(late.stderr).toContain('input.delivered')
})

test('a steered message reaches the model in the same turn, before what is queued', async ({
  bench,
}) => {
  const running = await inTool(bench, bash('sleep 2'), say('Turn one is over.'))
  const { host, client, id, go } = running
  await client.sessions.send({ ref: id, text: 'queued-word' })
  const sent = await host.cli('send', id, 'steer-word', '--steer')
  expect(sent).toMatchObject({ code: 0, rows: [{ state: 'sent', steer: true }] })
  await go()
  await waitForTurnEnd(client, id, 2)
  const { requests, events } = await checked(running, bench)
  // First request, after the first tool, after the second; then the next turn.
  expect(requests).toHaveLength(4)
  expect(seenIn(requests[0])).not.toContain('steer-word')
  // After the first tool, or after the second where it was not with the runtime before the first had ended.
  expect(seenIn(requests[2])).toContain('steer-word')
  expect(seenIn(requests[2])).not.toContain('queued-word')
  expect(seenIn(requests[3]).split('steer-word').length - 1).toBe(1)
  const input = String(sent.rows[0]?.id)
  const [first, second] = ofKind(events, 'turn.started')
  expect([...(first?.inputs ?? []), ...(second?.inputs ?? [])]).not.toContain(input)
  const told = ofKind(events, 'input.delivered').find((event) => event.input === input)
  expect(told?.steer).toBe(true)
  const end = ofKind(events, 'turn.ended')[0]
  expect(told?.seq).toBeLessThan(end?.seq ?? 0)
})

test('a steered message survives a host that is killed, and is given to the runtime once', async ({
  bench,
}) => {
  const running = await inTool(bench)
  const { host, client, id, go } = running
  await client.sessions.send({ ref: id, text: 'steer-word', steer: true })
  await host.kill()
  const next = await bench.host()
  // When the runtime had not recorded the first message yet, that goes to it again, and its tool with it.
  await go()
  await waitForNothingOpen(next.client, id)
  const { requests } = await checked({ ...running, host: next, client: next.client }, bench)
  expect(seenIn(requests.at(-1)).split('steer-word').length - 1).toBe(1)
})

test('without a turn there is nothing to steer, and the answer says so', async ({ bench }) => {
  const { host, client, id, go } = await inTool(bench)
  await go()
  await waitForTurnEnd(client, id, 1)
  const sent = await host.cli('send', id, 'hello', '--steer')
  expect(sent).toMatchObject({ code: 0, rows: [{ notSteered: { code: 'steer.no-turn' } }] })
  await waitForTurnEnd(client, id, 2)
})

test('an image reaches the model with its message; what is none is refused', async ({ bench }) => {
  const running = await inTool(bench)
  const { host, client, id, go } = running
  const file = bench.path('shot.png')
  await writeFile(file, Buffer.from(PNG, 'base64'))
  const words = bench.path('words.png')
  await writeFile(words, 'no image')
  const huge = bench.path('huge.png')
  await writeFile(huge, Buffer.alloc(IMAGE_LIMITS.bytes + 1))
  for (const bad of [words, huge]) {
    expect((await host.cli('send', id, 'x', '--image', bad)).code).toBe(2)
  }
  const sent = await host.cli('send', id, 'look-at-this', '--image', file)
  expect(sent).toMatchObject({ code: 0, rows: [{ images: [{ mediaType: 'image/png' }] }] })
  await go()
  await waitForTurnEnd(client, id, 2)
  const { requests, events } = await checked(running, bench)
  expect(JSON.stringify(requests.at(-1)?.messages)).toContain(PNG)
  const [image] = ofKind(events, 'input.delivered').at(-1)?.images ?? []
  if (image === undefined) throw new Error('The event names no image.')
  expect((await client.timeline.blob({ session: id, blob: image.blob })).text).toBe(PNG)
})

test('the fleet grows and shrinks while sessions run', async ({ bench }) => {
  const { host, client, id, go } = await inTool(bench)
  const { session } = await startTicket(client, { title: 'Second', body: script(say('Hello.')) })
  expect((await client.sessions.show({ ref: session.id })).state).toBe('queued')
  expect(await host.cli('settings', 'set', 'agents', '2')).toMatchObject({
    code: 0,
    rows: [{ agents: 2 }],
  })
  await waitForTurnEnd(client, session.id, 1)
  const holder = (await client.agents.list()).find(({ state, id: name }) => {
    return state === 'busy' && name === 'agent-2'
  })
  expect(holder?.session).toBe(session.id)

  await client.settings.edit({ agents: 1 })
  const states = async () => (await client.agents.list()).map(({ state }) => state).join()
  // Its session waited: it is parked, and what is said to it waits for the place that is left.
  await waitForState(client, session.id, 'parked')
  await waitFor('the second place to go', async () => (await states()) === 'busy')
  const pid = holder?.pid ?? 0
  await waitFor('its process to end', async () =>
    (await bench.processes()).every((info) => info.pid !== pid),
  )
  await client.sessions.send({ ref: session.id, text: script(say('Again.')) })
  expect(await client.sessions.show({ ref: session.id })).toMatchObject({ state: 'resuming' })
  await go()
  await waitForTurnEnd(client, id, 1)
  await client.sessions.finish({ ref: id })
  await waitForState(client, id, 'finished')
  await waitForTurnEnd(client, session.id, 2)
})
