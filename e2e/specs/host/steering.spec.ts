import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { v7 as uuid } from 'uuid'
import { InputId } from '../../../src-shared/ids.ts'
import { connectTo } from '../../support/ballet-client.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { isAlive } from '../../support/process-tree.ts'
import { bash, say, script, untilFile, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForDelivered,
  waitForEvent,
  waitForLiveText,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const newInput = () => InputId.parse(uuid())

async function running(bench: Workbench, body: string) {
  const remote = await bench.remote()
  const host = await bench.host()
  await addProject(host.client, remote.path)
  const { session } = await startTicket(host.client, { body })
  return { remote, host, client: host.client, id: session.id, key: session.ticket }
}

async function checked(client: Awaited<ReturnType<typeof running>>['client'], id: string) {
  const session = await client.sessions.show({ ref: id })
  const events = await timelineOf(client, id)
  checkTimeline(events, session)
  return { session, events }
}

test.describe('a message', () => {
  test('that is sent while a tool runs is in no request of that turn and in the first of the next', async ({
    bench,
  }) => {
    const done = bench.path('done')
    const { host, client, id } = await running(
      bench,
      `First. ${script(bash(untilFile(done)), bash('echo second tool'), say('Turn one is over.'))}`,
    )
    await waitForEvent(client, id, 'tool.call')
    await waitForDelivered(client, id, 1)
    const sent = await host.cli('send', id, `Late-word. ${script(say('Got the late word.'))}`)
    expect(sent).toMatchObject({
      code: 0,
      rows: [{ session: id, inputKind: 'message', state: 'queued' }],
    })
    expect((await host.cli('inputs', id)).rows).toMatchObject([
      { state: 'delivered' },
      { state: 'queued', text: expect.stringContaining('Late-word.') },
    ])
    expect((await client.sessions.show({ ref: id })).queuedInputs).toBe(1)
    await writeFile(done, '')
    await waitForTurnEnd(client, id, 2)

    const { session, events } = await checked(client, id)
    const requests = requestsOf(bench.model, session.conversation)
    expect(requests).toHaveLength(4)
    for (const request of requests.slice(0, 3)) expect(seenIn(request)).not.toContain('Late-word')
    expect(timesSaid(requests[3], 'Late-word.')).toBe(1)
    expect(seenIn(requests[3])).toContain('Turn one is over.')
    expect(ofKind(events, 'turn.started').map(({ inputs }) => inputs.length)).toEqual([1, 1])
    expect(ofKind(events, 'assistant.text').at(-1)?.text).toBe('Got the late word.')
    expect((await host.cli('inputs', id)).rows).toMatchObject([
      { state: 'delivered' },
      { state: 'delivered' },
    ])
  })

  test('after others is delivered with them, in their order, as one input', async ({ bench }) => {
    const done = bench.path('done')
    const { client, id } = await running(bench, script(bash(untilFile(done)), say('One.')))
    await waitForEvent(client, id, 'tool.call')
    for (const text of ['alpha-word', 'beta-word', 'gamma-word']) {
      await client.sessions.send({ ref: id, text })
    }
    await writeFile(done, '')
    await waitForTurnEnd(client, id, 2)
    const { session, events } = await checked(client, id)
    const requests = requestsOf(bench.model, session.conversation)
    expect(requests).toHaveLength(3)
    expect(seenIn(requests[2])).toMatch(/alpha-word\s+beta-word\s+gamma-word/u)
    const inputs = await client.sessions.inputs({ ref: id })
    expect(ofKind(events, 'turn.started')[1]?.inputs).toEqual(inputs.slice(1).map(({ id }) => id))
    expect(new Set(inputs.slice(1).map(({ delivery }) => delivery)).size).toBe(1)
  })

  test('that begins with a slash or an @ reaches the model as it was written', async ({
    bench,
  }) => {
    const { client, id } = await running(bench, script(say('One.')))
    await waitForTurnEnd(client, id, 1)
    for (const [index, text] of ['/clear', '/compact now', '@README.md says what?'].entries()) {
      await client.sessions.send({ ref: id, text })
      await waitForTurnEnd(client, id, index + 2)
    }
    const { session } = await checked(client, id)
    const last = requestsOf(bench.model, session.conversation).at(-1)
    expect(timesSaid(last, '/clear')).toBe(1)
    expect(timesSaid(last, '/compact now')).toBe(1)
    expect(timesSaid(last, '@README.md says what?')).toBe(1)
  })

  test('that is sent twice with one id, also by two clients at once, is one message', async ({
    bench,
  }) => {
    const done = bench.path('done')
    const { host, client, id } = await running(bench, script(bash(untilFile(done)), say('One.')))
    await waitForEvent(client, id, 'tool.call')
    const other = await connectTo(host.dataDir)
    bench.atEnd(async () => other.close())
    const input = newInput()
    const send = { ref: id, text: 'only-once', input }
    const answers = await Promise.all([
      client.sessions.send(send),
      other.client.sessions.send(send),
      client.sessions.send(send),
    ])
    expect(answers.map((answer) => answer.id)).toEqual([input, input, input])
    expect(await host.cli('send', id, 'only-once', '--id', input)).toMatchObject({
      code: 0,
      rows: [{ id: input }],
    })
    await writeFile(done, '')
    await waitForTurnEnd(client, id, 2)
    await client.sessions.send(send)
    const { session, events } = await checked(client, id)
    expect(timesSaid(requestsOf(bench.model, session.conversation).at(-1), 'only-once')).toBe(1)
    expect(ofKind(events, 'input.queued').filter((event) => event.input === input)).toHaveLength(1)
    expect(session.turn).toBe(2)
  })
})

test.describe('an interrupt', () => {
  test('ends the tool within a second, and the next message continues the conversation', async ({
    bench,
  }) => {
    const { host, client, id } = await running(
      bench,
      `Long job. ${script(bash('sleep 300', 'Sleeping now.'), say('Never.'))}`,
    )
    const sleeping = await bench.process('sleep 300')
    const at = performance.now()
    const pressed = client.sessions.interrupt({ ref: id })
    await waitFor('the end of sleep', async () => !(await isAlive(sleeping)), { everyMs: 5 })
    const tookMs = Math.round(performance.now() - at)
    test
      .info()
      .annotations.push({ type: 'interrupt to the end of the tool', description: `${tookMs} ms` })
    console.log(`interrupt → the tool's process is gone: ${tookMs} ms`)
    expect(tookMs).toBeLessThan(1_000)
    await pressed
    await waitForTurnEnd(client, id, 1)
    const after = await checked(client, id)
    expect(ofKind(after.events, 'turn.ended')[0]).toMatchObject({ reason: 'interrupted' })
    expect(ofKind(after.events, 'tool.result')[0]).toMatchObject({ status: 'cancelled' })

    expect((await host.cli('send', id, `Next-word. ${script(say('Going on.'))}`)).code).toBe(0)
    await waitForTurnEnd(client, id, 2)
    const { session } = await checked(client, id)
    expect(session.conversation).toBe(after.session.conversation)
    const last = requestsOf(bench.model, session.conversation).at(-1)
    for (const part of ['Long job.', 'Sleeping now.', 'sleep 300', 'Next-word.']) {
      expect(seenIn(last)).toContain(part)
    }
    expect(timesSaid(last, 'Long job.')).toBe(1)
  })

  test('in the middle of a stream keeps what was said, and delivers nothing more of it', async ({
    bench,
  }) => {
    const text = Array.from({ length: 200 }, (_, index) => `word${index}`).join(' ')
    const { client, id } = await running(bench, script({ text, chunks: 40, gate: 'never' }))
    await waitForLiveText(client, id, 'word0')
    await client.sessions.interrupt({ ref: id, text: `Other-word. ${script(say('Redirected.'))}` })
    await waitForTurnEnd(client, id, 2)
    const { events, session } = await checked(client, id)
    const texts = ofKind(events, 'assistant.text')
    expect(texts).toHaveLength(2)
    expect(texts[0]).toMatchObject({ turn: 1, partial: true })
    expect(text.startsWith(texts[0]?.text ?? '-')).toBe(true)
    expect(texts[1]).toMatchObject({ turn: 2, text: 'Redirected.' })
    expect(timesSaid(requestsOf(bench.model, session.conversation).at(-1), 'Other-word.')).toBe(1)
  })

  test('with a text is delivered after what was queued, as one input', async ({ bench }) => {
    const { host, client, id } = await running(bench, script(bash('sleep 301'), say('Never.')))
    await bench.process('sleep 301')
    await client.sessions.send({ ref: id, text: 'first-queued' })
    await client.sessions.send({ ref: id, text: 'second-queued' })
    const pressed = await host.cli('interrupt', id, 'the-interrupt')
    expect(pressed.code).toBe(0)
    await waitForTurnEnd(client, id, 2)
    const { session, events } = await checked(client, id)
    const last = requestsOf(bench.model, session.conversation).at(-1)
    expect(seenIn(last)).toMatch(/first-queued\s+second-queued\s+the-interrupt/u)
    expect(ofKind(events, 'turn.started').map(({ inputs }) => inputs.length)).toEqual([1, 3])
    expect(session.turn).toBe(2)
    expect((await client.sessions.inputs({ ref: id })).map((input) => input.inputKind)).toEqual([
      'message',
      'message',
      'message',
      'interrupt',
    ])
  })

  test('pressed twice, and by two clients at once, interrupts one turn', async ({ bench }) => {
    const { host, client, id } = await running(bench, script(bash('sleep 302'), say('Never.')))
    await bench.process('sleep 302')
    const other = await connectTo(host.dataDir)
    bench.atEnd(async () => other.close())
    const input = newInput()
    const press = { ref: id, text: 'pressed-text', input }
    await Promise.all([
      client.sessions.interrupt(press),
      other.client.sessions.interrupt(press),
      client.sessions.interrupt(press),
    ])
    await waitForTurnEnd(client, id, 2)
    await client.sessions.interrupt(press)
    const { session, events } = await checked(client, id)
    expect(ofKind(events, 'turn.ended').map(({ reason }) => reason)).toEqual([
      'interrupted',
      'completed',
    ])
    expect(timesSaid(requestsOf(bench.model, session.conversation).at(-1), 'pressed-text')).toBe(1)
    expect(session.state).toBe('waiting')
  })

  test('between turns does nothing but deliver its text', async ({ bench }) => {
    const { host, client, id } = await running(bench, script(say('One.')))
    await waitForTurnEnd(client, id, 1)
    const before = await timelineOf(client, id)
    expect((await host.cli('interrupt', id)).code).toBe(0)
    expect(ofKind(await timelineOf(client, id), 'turn.ended')).toHaveLength(1)
    expect((await client.sessions.show({ ref: id })).state).toBe('waiting')
    expect((await host.cli('interrupt', id, 'idle-text')).code).toBe(0)
    await waitForTurnEnd(client, id, 2)
    const { session, events } = await checked(client, id)
    expect(events.slice(0, before.length)).toEqual(before)
    expect(timesSaid(requestsOf(bench.model, session.conversation).at(-1), 'idle-text')).toBe(1)
  })
})

test.describe('stopping', () => {
  test('ends the runtime, pushes the work, and a start goes on in the same conversation', async ({
    bench,
  }) => {
    const { remote, host, client, id, key } = await running(
      bench,
      `Early-word. ${script(write('half.txt', 'half\n'), bash('sleep 303'), say('Never.'))}`,
    )
    await bench.process('sleep 303')
    const { branch, conversation } = await client.sessions.show({ ref: id })
    expect((await host.cli('session', 'stop', id)).code).toBe(0)
    const parked = await waitForState(client, id, 'parked')
    expect(parked).toMatchObject({ agent: null, conversation })
    expect((await client.tickets.show({ ref: key })).status).toBe('Ready')
    expect((await client.agents.list())[0]).toMatchObject({ state: 'idle', session: null })
    await waitFor('the runtime and its tools to be gone', async () =>
      (await bench.processes()).every(({ command }) => !/sleep 303|stream-json/u.test(command)),
    )
    expect(await remote.readFile(branch, 'half.txt')).toBe('half\n')
    checkTimeline(await timelineOf(client, id), parked)
    // Stopping what is stopped changes nothing.
    expect((await host.cli('session', 'stop', id)).rows[0]).toMatchObject({ state: 'parked' })

    const started = await host.cli('ticket', 'start', key)
    expect(started).toMatchObject({ code: 0, rows: [{ id }] })
    await waitForState(client, id, 'waiting')
    await client.sessions.send({
      ref: id,
      text: `Again. ${script(bash('cat half.txt'), say('Yes.'))}`,
    })
    await waitForTurnEnd(client, id, 2)
    const { session, events } = await checked(client, id)
    expect(session.conversation).toBe(conversation)
    expect(ofKind(events, 'tool.result').at(-1)?.output).toContain('half')
    const last = requestsOf(bench.model, conversation).at(-1)
    expect(timesSaid(last, 'Early-word.')).toBe(1)
    expect(timesSaid(last, 'Again.')).toBe(1)

    await host.cli('session', 'finish', id)
    const finished = await waitForState(client, id, 'finished')
    checkTimeline(await timelineOf(client, id), finished)
    expect(await remote.readFile(branch, 'half.txt')).toBe('half\n')
  })

  test('twice and from two clients at once is one stop', async ({ bench }) => {
    const { host, client, id } = await running(bench, script(bash('sleep 304'), say('Never.')))
    await bench.process('sleep 304')
    const other = await connectTo(host.dataDir)
    bench.atEnd(async () => other.close())
    await Promise.all([
      client.sessions.stop({ ref: id }),
      other.client.sessions.stop({ ref: id }),
      client.sessions.stop({ ref: id }),
    ])
    const session = await waitForState(client, id, 'parked')
    const events = await timelineOf(client, id)
    checkTimeline(events, session)
    expect(ofKind(events, 'session.state').filter(({ to }) => to === 'parked')).toHaveLength(1)
  })

  test('leaves a session that can be finished without an agent run', async ({ bench }) => {
    const { remote, client, id, key } = await running(
      bench,
      script(write('done.txt', 'done\n'), say('Done.')),
    )
    await waitForTurnEnd(client, id, 1)
    await client.sessions.stop({ ref: id })
    await waitForState(client, id, 'parked')
    await client.sessions.finish({ ref: id })
    const session = await waitForState(client, id, 'finished')
    expect(await remote.readFile(session.branch, 'done.txt')).toBe('done\n')
    expect((await client.tickets.show({ ref: key })).status).toMatch(/^(Review|Done)$/u)
    checkTimeline(await timelineOf(client, id), session)
  })

  test('a message to a stopped session brings it back', async ({ bench }) => {
    const { client, id } = await running(bench, `Early. ${script(say('One.'))}`)
    await waitForTurnEnd(client, id, 1)
    await client.sessions.stop({ ref: id })
    const parked = await waitForState(client, id, 'parked')
    await client.sessions.send({ ref: id, text: 'wake-word' })
    await waitForTurnEnd(client, id, 2)
    const { session } = await checked(client, id)
    expect(session.conversation).toBe(parked.conversation)
    const last = requestsOf(bench.model, session.conversation).at(-1)
    expect(timesSaid(last, 'Early.')).toBe(1)
    expect(timesSaid(last, 'wake-word')).toBe(1)
  })
})

test('finishing twice and from two clients at once makes one commit', async ({ bench }) => {
  const { remote, host, client, id } = await running(
    bench,
    script(write('a.txt', 'a\n'), say('A.')),
  )
  await waitForTurnEnd(client, id, 1)
  const other = await connectTo(host.dataDir)
  bench.atEnd(async () => other.close())
  await Promise.all([
    client.sessions.finish({ ref: id }),
    other.client.sessions.finish({ ref: id }),
    client.sessions.finish({ ref: id }),
  ])
  const session = await waitForState(client, id, 'finished')
  expect((await host.cli('session', 'finish', id)).code).toBe(0)
  expect(await remote.log(session.branch)).toHaveLength(2)
  checkTimeline(await timelineOf(client, id), session)
  const late = await host.cli('send', id, 'too late')
  expect(late.code).toBe(1)
  expect(late.error).toMatchObject({ message: expect.stringContaining(session.ticket) })
})
