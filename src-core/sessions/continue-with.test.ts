import { expect, test } from 'vitest'
import { InputId, RequestId } from '../../src-shared/ids.ts'
import type { Runtime, RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import { answerProbe, SAMPLE_VERSIONS } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore, type TestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import {
  deliveries,
  inState,
  keptAway,
  letGo,
  parked,
  starting,
  stored,
  timeline,
  waiting,
  working,
} from '../testing/walks.ts'

const CAN: RuntimeCapabilities = {
  resume: 'proven',
  steer: true,
  permissionRequests: true,
  cost: true,
  images: true,
  ...{ moves: true, mcp: true, usage: true, planner: true },
}

const drives = (runtime: Runtime['runtime'], can: Partial<RuntimeCapabilities> = {}): Runtime => ({
  runtime,
  capabilities: { ...CAN, ...can },
  versions: { minimum: null, tested: ['1.0.0'] },
})

const start = (more: Parameters<typeof startTestCore>[0] = {}) =>
  startTestCore({
    agents: 1,
    runtimes: [
      drives('codex', { images: false }),
      drives('opencode', { mcp: false }),
      drives('acp:goose'),
    ],
    ...more,
  })

const toCodex = (core: TestCore, ref: string, model?: string) =>
  core.client.sessions.continueWith({
    ref,
    runtime: 'codex',
    ...(model === undefined ? {} : { model }),
  })

/** The next agent that was told to begin a session of the ticket, after `before` of them. */
const nextStart = (core: TestCore, ticket: string, before: number) =>
  until('another start of the session', () => {
    const starts = core.launcher.launched.flatMap(({ fake }) =>
      fake
        .heard('session.start')
        .filter(({ spec }) => spec.ticket === ticket)
        .map(({ spec }) => ({ fake, spec })),
    )
    return starts.length > before && starts[before]
  })

test('a waiting session goes on with another runtime in the same workspace, told of all that was', async () => {
  const core = await start()
  const { ticket, agent } = await waiting(core)
  agent.event({ kind: 'assistant.text', turn: 1, text: 'The button is half done.' })
  agent.event({
    kind: 'todo',
    items: [
      { text: 'draw it', status: 'done' },
      { text: 'wire it up', status: 'pending' },
    ],
  })
  await until('the todo', async () =>
    (await timeline(core, ticket.key)).some(({ kind }) => kind === 'todo'),
  )
  const told = await toCodex(core, ticket.key, 'o9')
  expect(told).toMatchObject({ state: 'waiting', pending: 'continue', runtime: 'claude-code' })
  expect(told.reason).toContain('Codex')
  await until('the order to let go', () => agent.heard('session.release').length === 1)
  const { workspaceDir } = agent.spec()
  agent.end('released')

  const { fake, spec } = await nextStart(core, ticket.key, 1)
  expect(spec).toMatchObject({
    runtime: 'codex',
    model: 'o9',
    workspaceDir,
    resume: { conversation: null, turn: 1, openDeliveries: [] },
    runtimeArgs: [],
  })
  fake.items([{ type: 'ready', conversation: 'thread-1', runtimeVersion: '0.171.0' }])
  await until('the first message', () => fake.heard('input.deliver').length === 2)
  const { text } = fake.delivery()
  expect(text).toContain('another coding agent began in this very clone')
  expect(text.match(/Add a button/g)).toHaveLength(1)
  expect(text).toContain('The agent before you: The button is half done.')
  expect(text).toContain('- wire it up')
  expect(text).not.toContain('- draw it')
  const events = await timeline(core, ticket.key)
  expect(events.find(({ kind }) => kind === 'runtime.changed')).toMatchObject({
    from: 'claude-code',
    to: 'codex',
    model: 'o9',
    conversation: 'conversation-1',
  })
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    id: told.id,
    runtime: 'codex',
    model: 'o9',
    conversation: 'thread-1',
    branch: told.branch,
  })

  // The states of both conversations go with the ticket.
  fake.beginTurn(2)
  fake.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => fake.heard('session.stop').length === 1)
  fake.end('stopped')
  await inState(core, ticket.key, 'parked')
  await core.client.tickets.delete({ ref: ticket.key })
  const removals = fake
    .heard('probe')
    .flatMap(({ probe }) => (probe.kind === 'state.remove' ? [probe] : []))
  expect(removals.map(({ runtime, conversations }) => [runtime, conversations])).toEqual([
    ['claude-code', ['conversation-1']],
    ['codex', ['thread-1']],
  ])
})

test('a running turn is interrupted before the agent lets go; what is queued comes after the summary', async () => {
  const core = await start()
  const { ticket, agent } = await working(core)
  await core.client.sessions.send({ ref: ticket.key, text: 'and make it blue' })
  const told = await toCodex(core, ticket.key)
  expect(told).toMatchObject({ state: 'working', pending: 'continue' })
  await until('the interrupt', () => agent.heard('turn.interrupt').length === 1)
  expect(agent.heard('session.release')).toEqual([])
  agent.endTurn(1, 'interrupted')
  await until('the order to let go', () => agent.heard('session.release').length === 1)
  agent.end('released')
  const { fake } = await nextStart(core, ticket.key, 1)
  fake.ready()
  const [, delivery] = await deliveries(fake, 2)
  expect(delivery?.inputs).toHaveLength(2)
  expect(delivery?.text.endsWith('and make it blue')).toBe(true)
  expect(delivery?.preface).toBeUndefined()

  // Once more: what the conversation in between was told at its beginning is not told again.
  fake.beginTurn(2)
  fake.endTurn(2)
  await inState(core, ticket.key, 'waiting')
  await core.client.sessions.continueWith({ ref: ticket.key, runtime: 'claude-code' })
  await until('the order to let go', () => fake.heard('session.release').length === 2)
  fake.end('released')
  await nextStart(core, ticket.key, 2)
  fake.ready()
  const last = (await deliveries(fake, 3)).at(-1)?.text ?? ''
  expect(last.match(/another coding agent/g)).toHaveLength(1)
  expect(last).toContain('The person: and make it blue')
})

test('what an agent that died had in hand is unknown, and the other runtime goes on', async () => {
  const core = await start()
  const { ticket, agent } = await working(core)
  await toCodex(core, ticket.key)
  agent.die()
  const session = await until('the change', async () => {
    const now = await core.client.sessions.show({ ref: ticket.key })
    return now.runtime === 'codex' && now
  })
  expect(session).toMatchObject({ state: 'resuming', conversation: null })
  expect(session.pending).toBeUndefined()
})

test('after a death of the host the next start does what was asked for', async () => {
  const core = await start()
  const { ticket } = await working(core)
  await toCodex(core, ticket.key)
  const again = await core.restart()
  const { spec, fake } = await nextStart(again, ticket.key, 0)
  expect(spec).toMatchObject({ runtime: 'codex', resume: { conversation: null } })
  fake.ready()
  const [delivery] = await deliveries(fake, 1)
  expect(delivery?.text).toContain('another coding agent')
  const events = await timeline(again, ticket.key)
  expect(events.filter(({ kind }) => kind === 'runtime.changed')).toHaveLength(1)
})

test('a parked session is restored without its state; its new conversation is told what was', async () => {
  const core = await start()
  const { ticket } = await keptAway(core)
  await toCodex(core, ticket.key)
  const { fake, spec } = await nextStart(core, ticket.key, 1)
  expect(spec.parked?.work.state).toBeNull()
  expect(spec).toMatchObject({ runtime: 'codex', grants: [], resume: { conversation: null } })
  fake.ready()
  const [, delivery] = await deliveries(fake, 2)
  expect(delivery?.text).toContain('another coding agent')
})

test('stopped and failed sessions are brought back', async () => {
  const core = await start()
  const { ticket } = await parked(core)
  expect(await toCodex(core, ticket.key)).toMatchObject({ state: 'resuming', runtime: 'codex' })
  const { fake } = await nextStart(core, ticket.key, 1)
  fake.end('failed', true, { code: 'runtime.not-found', message: 'Codex is not here.' })
  await inState(core, ticket.key, 'failed')
  const back = await core.client.sessions.continueWith({ ref: ticket.key, runtime: 'acp:goose' })
  expect(back).toMatchObject({ state: 'resuming', runtime: 'acp:goose' })
  const { fake: goose, spec } = await nextStart(core, ticket.key, 2)
  expect(spec.acp).toMatchObject({ command: 'goose' })
  // What Codex was to be told and never got is not told beside it.
  goose.ready()
  const told = (await deliveries(goose, 2)).at(-1)?.text ?? ''
  expect(told.split('You go on with work on a ticket')).toHaveLength(2)
})

test('one that nothing was given to yet is only given to the other runtime', async () => {
  const core = await start()
  const { ticket, agent } = await starting(core)
  await toCodex(core, ticket.key)
  await until('the order to let go', () => agent.heard('session.release').length === 1)
  agent.end('released')
  const { fake } = await nextStart(core, ticket.key, 1)
  fake.ready()
  const [delivery] = await deliveries(fake, 1)
  expect(delivery?.text).toBe('Add a button\n\nIt says hello.')
})

test('an open request is withdrawn with the runtime that asked, and what it was granted goes', async () => {
  const core = await start({ agents: 2 })
  const { ticket, agent } = await working(core)
  const request = RequestId.parse(core.ids.uuid())
  agent.ask(request)
  await until('the request', async () => (await core.client.requests.list()).length === 1)
  await core.client.requests.allow({ ref: request, forSession: true })
  const second = RequestId.parse(core.ids.uuid())
  agent.ask(second, 'npm publish')
  await until('the second', async () => (await core.client.requests.list()).length === 2)
  await toCodex(core, ticket.key)
  agent.die()
  const { spec } = await nextStart(core, ticket.key, 1)
  expect(spec.grants).toEqual([])
  expect(await core.client.requests.show({ ref: second })).toMatchObject({
    state: 'withdrawn',
    text: expect.stringContaining('Codex'),
  })
  const inputs = await core.client.sessions.inputs({ ref: ticket.key, state: 'queued' })
  expect(inputs.map(({ inputKind }) => inputKind)).toEqual(['message'])
})

test('a stop takes its place', async () => {
  const core = await start()
  const { ticket, agent } = await waiting(core)
  await toCodex(core, ticket.key)
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the order to let go', () => agent.heard('session.release').length === 1)
  agent.end('released')
  expect(await inState(core, ticket.key, 'parked')).toMatchObject({
    runtime: 'claude-code',
    conversation: 'conversation-1',
  })
})

test('what cannot be continued is refused, with what can be done', async () => {
  const core = await start()
  const { ticket, agent } = await waiting(core)
  const refused = async (input: Parameters<typeof core.client.sessions.continueWith>[0]) =>
    (await refusalOf(core.client.sessions.continueWith(input))).code
  const ref = ticket.key
  expect(await refused({ ref, runtime: 'claude-code' })).toBe('session.same-runtime')
  expect(await refused({ ref, runtime: 'acp:nobody' })).toBe('runtime.unknown')
  const noDriver = await startTestCore({ agents: 1 })
  const other = await waiting(noDriver)
  expect((await refusalOf(toCodex(noDriver, other.ticket.key))).code).toBe('runtime.no-driver')

  await stored(agent, () => agent.event({ kind: 'assistant.text', turn: 1, text: 'hm' }))
  await core.client.sessions.park({ ref })
  expect(await refused({ ref, runtime: 'codex' })).toBe('session.parking')
  await letGo(core, ref, agent)
  await core.client.sessions.finish({ ref })
  const late = await refused({ ref, runtime: 'codex' })
  expect(['session.finishing', 'session.finished']).toContain(late)
})

test('a queued image is not handed to a runtime that takes none, before and while it changes', async () => {
  const core = await start()
  const { ticket, agent } = await working(core)
  const png = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64')
  const images = [{ mediaType: 'image/png' as const, data: png }]
  const input = InputId.parse(core.ids.uuid())
  await core.client.sessions.send({ ref: ticket.key, text: 'like this', images, input })
  expect((await refusalOf(toCodex(core, ticket.key))).code).toBe('image.unsupported')
  await core.client.inputs.cancel({ ref: input })
  await toCodex(core, ticket.key)
  const late = core.client.sessions.send({ ref: ticket.key, text: 'like this', images })
  expect((await refusalOf(late)).code).toBe('image.unsupported')
  agent.die()
})

test('a runtime without Ballet’s tools is not told of them', async () => {
  const core = await start()
  const { ticket } = await keptAway(core)
  expect((await core.launcher.holder(ticket.key)).spec().prompt).toContain('ask_question')
  await core.client.sessions.continueWith({ ref: ticket.key, runtime: 'opencode' })
  const { spec } = await nextStart(core, ticket.key, 1)
  expect(spec.prompt).not.toContain('ask_question')
  expect(spec.prompt).not.toContain('Ask well.')
  expect(spec.prompt).toContain('You have no tool to ask with')
})

test('a conversation that cannot be kept is said in the card of its parked session', async () => {
  const core = await start()
  const { ticket } = await keptAway(core, { state: null })
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    state: 'parked',
    reason: expect.stringContaining('its conversation cannot be moved'),
  })
})

test('a drain in between keeps the work of the old runtime, and the next start goes on with the new one', async () => {
  const core = await start()
  const { ticket, agent } = await working(core)
  await toCodex(core, ticket.key)
  await until('the interrupt', () => agent.heard('turn.interrupt').length === 1)
  await core.client.agents.drain({ how: 'now' })
  agent.endTurn(1, 'interrupted')
  await until('the order to let go', () => agent.heard('session.release').length === 1)
  expect(agent.heard('session.park')).toEqual([])
  agent.end('released')
  const session = await until('the change', async () => {
    const now = await core.client.sessions.show({ ref: ticket.key })
    return now.runtime === 'codex' && now
  })
  expect(session).toMatchObject({ state: 'resuming', agent: null })
  const again = await core.restart()
  const { spec } = await nextStart(again, ticket.key, 0)
  expect(spec.runtime).toBe('codex')
})

test('a runtime that is not here does not get it: the conversation that was goes on', async () => {
  const core = await start()
  const { ticket } = await waiting(core)
  const problem = { code: 'runtime.not-found', message: 'No Codex.', hint: 'Install it.' }
  core.launcher.answer = (probe) =>
    probe.kind === 'runtimes'
      ? {
          kind: 'runtimes',
          git: { path: '/usr/bin/git', version: '2.39.5' },
          runtimes: [
            {
              ...{ runtime: 'codex', path: null, version: null, loggedIn: null, login: null },
              ...{ versions: SAMPLE_VERSIONS, problem, notice: null },
            },
          ],
        }
      : answerProbe(probe)
  expect(await refusalOf(toCodex(core, ticket.key))).toMatchObject(problem)
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    runtime: 'claude-code',
    conversation: 'conversation-1',
  })
})

test('an agent of the settings goes on under the name that the person gave it', async () => {
  const core = await start()
  const { ticket, agent } = await waiting(core)
  await core.client.settings.edit({
    acpAgents: { mine: { title: 'My goose', command: '/opt/goose' } },
  })
  const toMine = () => core.client.sessions.continueWith({ ref: ticket.key, runtime: 'acp:mine' })
  await toMine()
  const { reason } = await core.client.sessions.show({ ref: ticket.key })
  expect(reason).toContain('My goose goes on with it')
  await until('the order to let go', () => agent.heard('session.release').length === 1)
  agent.end('released')
  await nextStart(core, ticket.key, 1)
  const states = (await timeline(core, ticket.key)).flatMap((event) =>
    event.kind === 'session.state' ? event.reason : [],
  )
  expect(states).toContain('My goose goes on with it')
  expect((await refusalOf(toMine())).message).toContain('My goose')
})
