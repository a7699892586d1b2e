import { expect, test } from 'vitest'
import type { Probe, RuntimeReport } from '../../src-shared/agent-wire.ts'
import type { Runtime } from '../../src-shared/runtimes.ts'
import { PlannerSettings } from '../../src-shared/settings.ts'
import { plannerOff } from '../planner/planner-off.ts'
import { answerProbe, SAMPLE_VERSIONS } from '../testing/fake-agent.ts'
import { refusalOf, startTestCore } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { inState, parked, waiting } from '../testing/walks.ts'

const runtime = (name: Runtime['runtime'], planner: boolean, images = false): Runtime => ({
  runtime: name,
  capabilities: {
    resume: 'proven',
    steer: false,
    permissionRequests: true,
    cost: false,
    images,
    ...{ moves: true, mcp: true, usage: true, planner },
  },
  versions: { minimum: null, tested: [] },
})

const start = () =>
  startTestCore({
    agents: 1,
    runtimes: [runtime('codex', false), runtime('acp:gemini', false, true)],
  })

test('a new session has the runtime, model, arguments and words of its stage', async () => {
  const { client, launcher, ...core } = await start()
  await client.projects.add({
    name: 'Shop',
    repo: '/srv/shop.git',
    model: 'opus',
    runtimeArgs: ['--project'],
    skill: 'Ask the shop.',
    stages: {
      plan: { model: 'haiku', skill: 'Only plan.' },
      review: { runtime: 'codex', runtimeArgs: ['--stage'] },
      check: { runtime: 'codex', model: 'o9' },
    },
  })
  const specOf = async (stage: string) => {
    const ticket = await client.tickets.add({ project: 'Shop', title: stage, stage, start: true })
    const agent = await launcher.holder(ticket.key)
    const spec = agent.spec()
    const session = await client.sessions.show({ ref: ticket.key })
    expect(session).toMatchObject({ stage, runtime: spec.runtime, model: spec.model })
    await client.sessions.stop({ ref: ticket.key })
    await until('the stop', () => agent.heard('session.stop').length > 0)
    agent.end('stopped')
    await inState({ client, launcher, ...core }, ticket.key, 'parked')
    agent.told.splice(0)
    return spec
  }
  const implement = await specOf('implement')
  expect(implement).toMatchObject({ runtime: 'claude-code', model: 'opus' })
  expect(implement.runtimeArgs).toEqual(['--project'])
  expect(implement.prompt).toContain('Ask the shop.')
  expect(implement.prompt).not.toContain('Your stage')
  const plan = await specOf('plan')
  expect(plan).toMatchObject({ runtime: 'claude-code', model: 'haiku', runtimeArgs: ['--project'] })
  expect(plan.prompt).toContain('Ask the shop.\n\n# Your stage: plan\n\nOnly plan.')
  expect(await specOf('review')).toMatchObject({
    ...{ runtime: 'codex', model: null, runtimeArgs: ['--stage'] },
  })
  expect(await specOf('check')).toMatchObject({ runtime: 'codex', model: 'o9', runtimeArgs: [] })
})

test('a session keeps its runtime when its project gets another one, and no model of that', async () => {
  const core = await start()
  const { ticket, agent } = await parked(core)
  await core.client.projects.edit({
    ...{ ref: 'Shop', runtime: 'codex', model: 'o9', runtimeArgs: ['--codex'] },
  })
  await core.client.sessions.send({ ref: ticket.key, text: 'Go on.' })
  await until('another start', () => agent.heard('session.start').length === 2)
  expect(agent.spec()).toMatchObject({ runtime: 'claude-code', model: null, runtimeArgs: [] })
})

test('the stage of a ticket is not changed while its session is live', async () => {
  const core = await start()
  const { ticket, agent } = await waiting(core)
  await core.client.projects.edit({ ref: 'Shop', stages: { review: { model: 'haiku' } } })
  const change = () => core.client.tickets.edit({ ref: ticket.key, stage: 'review' })
  expect(await refusalOf(change())).toMatchObject({ code: 'ticket.live' })
  expect(await core.client.tickets.edit({ ref: ticket.key, stage: 'implement' })).toMatchObject({
    stage: 'implement',
  })
  await core.client.sessions.stop({ ref: ticket.key })
  await until('the stop', () => agent.heard('session.stop').length === 1)
  agent.end('stopped')
  await inState(core, ticket.key, 'parked')
  expect(await change()).toMatchObject({ stage: 'review' })
})

test('a stage that the project does not have is refused with those that it has', async () => {
  const { client } = await start()
  const stages = { review: { model: 'haiku' }, plan: {} }
  await client.projects.add({ name: 'Shop', repo: '/srv/shop.git', stages })
  const add = (stage: string) => client.tickets.add({ project: 'Shop', title: 'x', stage })
  const unknown = {
    code: 'stage.unknown',
    message: 'The project "Shop" has no stage rewiew.',
    hint: expect.stringContaining('implement, plan, review.'),
  }
  expect(await refusalOf(add('rewiew'))).toMatchObject(unknown)
  const ticket = await add('review')
  const edit = (stage: string) => client.tickets.edit({ ref: ticket.key, stage })
  expect(await refusalOf(edit('rewiew'))).toMatchObject(unknown)
  expect((await edit('implement')).stage).toBe('implement')
  // One that it has already is left to it.
  expect((await edit('review')).stage).toBe('review')
  await client.projects.edit({ ref: 'Shop', stages: { review: null } })
  expect((await edit('review')).stage).toBe('review')
})

test('what names an agent that nobody knows is refused with those there are', async () => {
  const { client } = await start()
  const add = (more: object) =>
    client.projects.add({ name: 'Shop', repo: '/srv/shop.git', ...more })
  const unknown = await refusalOf(add({ runtime: 'acp:mine' }))
  expect(unknown.code).toBe('runtime.unknown')
  expect(unknown.hint).toContain('acp:gemini')
  expect(unknown.hint).toContain('acpAgents.mine')
  // What every object has is no agent.
  expect((await refusalOf(add({ runtime: 'acp:constructor' }))).code).toBe('runtime.unknown')
  const inStage = add({ stages: { review: { runtime: 'acp:mine' } } })
  expect(await refusalOf(inStage)).toMatchObject({ code: 'runtime.unknown' })

  await client.settings.edit({ acpAgents: { mine: { title: 'Mine', command: 'mine' } } })
  await add({ stages: { review: { runtime: 'acp:mine' } } })
  const takeAway = () => client.settings.edit({ acpAgents: { mine: null } })
  expect(await refusalOf(takeAway())).toMatchObject({
    code: 'runtime.in-use',
    message: expect.stringContaining('the stage review of the project "Shop"'),
  })
  const noStage = client.projects.edit({ ref: 'Shop', stages: { plan: null } })
  expect(await refusalOf(noStage)).toMatchObject({ code: 'project.no-stage' })
  await client.projects.edit({ ref: 'Shop', stages: { review: null } })
  expect((await client.projects.show({ ref: 'Shop' })).stages).toEqual({})
  expect((await takeAway()).acpAgents).toEqual({})
  expect(await refusalOf(takeAway())).toMatchObject({ code: 'settings.no-agent' })
})

test('an agent of the settings is driven like the ones that Ballet knows, and can what any agent can', async () => {
  const { client, launcher } = await start()
  await client.settings.edit({
    acpAgents: { mine: { title: 'Mine', command: '/opt/mine', args: ['x'] } },
  })
  await client.projects.add({ name: 'Shop', repo: '/srv/shop.git', runtime: 'acp:mine' })
  const ticket = await client.tickets.add({ project: 'Shop', title: 'Do it', start: true })
  const agent = await launcher.holder(ticket.key)
  expect(agent.spec()).toMatchObject({
    runtime: 'acp:mine',
    acp: { title: 'Mine', command: '/opt/mine', args: ['x'] },
  })
  const png = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64')
  const images = [{ mediaType: 'image/png' as const, data: png }]
  const send = client.sessions.send({ ref: ticket.key, text: 'look', images })
  // Of another agent it is known that it takes images, of this one it is not.
  expect(await refusalOf(send)).toMatchObject({
    code: 'image.unsupported',
    message: 'Mine takes no images.',
  })
})

test('a planner that its runtime cannot be is refused', async () => {
  const { client } = await start()
  await until('the runtimes', async () => (await client.host.info()).runtimes.length === 3)
  const set = (name: Runtime['runtime']) => client.settings.edit({ planner: { runtime: name } })
  expect(await refusalOf(set('codex'))).toMatchObject({
    code: 'planner.runtime',
    hint: expect.stringContaining('claude-code'),
  })
  expect(await refusalOf(set('acp:nobody'))).toMatchObject({ code: 'runtime.unknown' })
  expect((await set('claude-code')).planner.runtime).toBe('claude-code')
})

test('a planner that its runtime cannot be all the same is off, and says why', () => {
  const planner = PlannerSettings.parse({ runtime: 'codex' })
  const project = { planner: true, sources: ['README.md'] }
  const settings = { planner, acpAgents: {} }
  const judged = (can: boolean) => plannerOff(project, settings, runtime('codex', can).capabilities)
  expect(judged(false)).toContain('Codex cannot answer as the planner')
  expect(judged(true)).toBeNull()
  expect(plannerOff(project, settings, undefined)).toBeNull()
})

const report = (
  name: RuntimeReport['runtime'],
  found: Partial<RuntimeReport> = {},
): RuntimeReport => ({
  runtime: name,
  path: null,
  version: null,
  loggedIn: null,
  login: null,
  versions: SAMPLE_VERSIONS,
  problem: { code: 'runtime.not-found', message: `No ${name}.`, hint: 'Install it.' },
  notice: null,
  ...found,
})

test('doctor: only what is in use is a problem; what is newer than tested is a note', async () => {
  const { client, launcher } = await start()
  const notice = { code: 'runtime.newer', message: 'opencode is newer.', hint: 'Try it.' }
  launcher.answer = (probe) =>
    probe.kind === 'runtimes'
      ? {
          kind: 'runtimes',
          git: { path: '/usr/bin/git', version: '2.39.5' },
          runtimes: [
            report('claude-code'),
            report('codex'),
            report('acp:gemini'),
            report('opencode', { path: '/usr/bin/opencode', problem: null, notice }),
          ],
        }
      : answerProbe(probe)
  const problems = async () => (await client.host.doctor()).problems.map(({ message }) => message)
  expect(await problems()).toEqual(['No claude-code.'])
  await client.projects.add({
    ...{ name: 'Shop', repo: '/srv/shop.git', runtime: 'codex', planner: false },
    stages: { review: { runtime: 'acp:gemini' } },
  })
  expect(await problems()).toEqual(['No codex.', 'No acp:gemini.'])
  await client.projects.edit({ ref: 'Shop', planner: true })
  expect(await problems()).toEqual(['No claude-code.', 'No codex.', 'No acp:gemini.'])
  const { runtimes, notes } = await client.host.doctor()
  expect(runtimes).toHaveLength(4)
  expect(notes).toContainEqual(notice)
})

test('doctor asks for each project with what it adds to the environment, and for one alone that is named', async () => {
  const { client, launcher } = await start()
  const asked: Probe[] = []
  launcher.answer = (probe) => {
    asked.push(probe)
    return answerProbe(probe)
  }
  const shop = await client.projects.add({
    ...{ name: 'Shop', repo: '/srv/shop.git', runtime: 'codex', planner: false },
    ...{ env: { OPENAI_API_KEY: 'k' }, stages: { review: { runtime: 'acp:gemini' } } },
  })
  asked.splice(0)
  await client.host.doctor()
  await client.host.doctor({ project: 'shop' })
  const env = { OPENAI_API_KEY: 'k' }
  expect(asked).toMatchObject([
    { projects: [{ id: shop.id, name: 'Shop', env, runtimes: ['codex', 'acp:gemini'] }] },
    { of: { env } },
  ])
  expect(asked[1]).not.toHaveProperty('projects')
  const unknown = client.host.doctor({ project: 'nobody' })
  expect((await refusalOf(unknown)).code).toBe('project.not-found')
})
