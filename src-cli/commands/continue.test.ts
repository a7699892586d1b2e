import { expect, it } from 'vitest'
import { Settings } from '../../src-shared/settings.ts'
import { ballet, project, session, testWorld, ticket } from '../test-world.ts'

it('continue names the runtime and the model, and says what comes first', async () => {
  const given: unknown[] = []
  const world = testWorld({
    sessions: {
      continueWith: (input) => {
        given.push(input)
        return { ...session, state: 'working', pending: 'continue' }
      },
    },
  })
  expect(await ballet(world, 'continue', 'SHOP-1', '--with', 'codex', '--model', 'o9')).toBe(0)
  expect(given).toMatchObject([{ ref: 'SHOP-1', runtime: 'codex', model: 'o9' }])
  expect(world.out()).toBe(
    'SHOP-1: Codex goes on with it, in a new conversation. Its turn is interrupted first.\n',
  )
  expect(await ballet(testWorld({}), 'continue', 'SHOP-1')).toBe(2)
  expect(await ballet(testWorld({}), 'continue', 'SHOP-1', '--with', 'nobody')).toBe(2)
})

it('stages of a project are set whole, taken away and shown; a ticket gets another one', async () => {
  const given: Record<string, unknown>[] = []
  const keep = (answer: unknown) => (input: Record<string, unknown>) => {
    given.push(input)
    return answer
  }
  const stages = {
    review: { runtime: 'codex' as const, model: 'o9', runtimeArgs: ['--a', '--b=1,2'] },
  }
  const world = testWorld(
    {
      projects: {
        add: keep(project),
        edit: keep(project),
        show: () => ({ ...project, stages: { ...stages, plan: { skill: 'Plan.' } } }),
      },
      tickets: { edit: keep(ticket) },
    },
    { files: { '/home/person/work/plan.md': new TextEncoder().encode('Plan first.') } },
  )
  const review = 'review:runtime=codex,model=o9,arg=--a,arg=--b=1,2'
  const edit = ['project', 'edit', 'Shop']
  expect(
    await ballet(
      world,
      ...edit,
      '--stage',
      review,
      '--stage',
      'plan:skill=@plan.md',
      '--unset-stage',
      'check',
    ),
  ).toBe(0)
  expect(given.pop()).toMatchObject({
    stages: { ...stages, plan: { skill: 'Plan first.' }, check: null },
  })
  const repo = ['--name', 'Shop', '--repo', '/r']
  expect(await ballet(world, 'project', 'add', ...repo, '--stage', review)).toBe(0)
  expect(given.pop()).toMatchObject({ stages })
  expect(await ballet(world, 'project', 'show', 'Shop')).toBe(0)
  expect(world.out()).toMatch(/stage review +runtime=codex, model=o9, arg=--a, arg=--b=1,2/)
  expect(world.out()).toMatch(/stage plan +skill of 5 characters/)
  expect(await ballet(world, 'ticket', 'edit', 'SHOP-1', '--stage', 'review')).toBe(0)
  expect(given.pop()).toMatchObject({ ref: 'SHOP-1', stage: 'review' })

  for (const wrong of [
    'review',
    'review:',
    'Review:model=x',
    'review:runtime=nobody',
    'review:x=1',
  ]) {
    expect(await ballet(testWorld({}), ...edit, '--stage', wrong)).toBe(2)
  }
  const both = ['--stage', review, '--unset-stage', 'review']
  expect(await ballet(testWorld({}), ...edit, ...both)).toBe(2)
})

it('agents of the Agent Client Protocol are set by their command line', async () => {
  const given: Record<string, unknown>[] = []
  const settings = Settings.parse({
    acpAgents: { mine: { title: 'My agent', command: '/opt/mine', args: ['--acp', 'a b'] } },
  })
  const world = testWorld({
    settings: {
      show: () => settings,
      edit: (input: Record<string, unknown>) => {
        given.push(input)
        return settings
      },
    },
  })
  const set = async (key: string, value: string) => {
    expect(await ballet(world, 'settings', 'set', key, value)).toBe(0)
    return given.pop()?.acpAgents
  }
  expect(await set('acpAgents.other', 'agent acp "a b" --x=\'c d\'')).toEqual({
    other: { title: 'other', command: 'agent', args: ['acp', 'a b', '--x=c d'] },
  })
  expect(await set('acpAgents.mine', 'mine')).toEqual({
    mine: { title: 'My agent', command: 'mine', args: [] },
  })
  expect(await set('acpAgents.mine.title', 'Mine')).toMatchObject({
    mine: { title: 'Mine', command: '/opt/mine' },
  })
  expect(await set('acpAgents.mine', '')).toEqual({ mine: null })
  expect(world.out()).toMatch(/acpAgents\.mine +\/opt\/mine --acp "a b"/)
  expect(world.out()).toMatch(/acpAgents\.mine\.title +My agent/)
  const fails = ['acpAgents.nobody.title', 'acpAgents.mine.size', 'acpAgents.Not-One', 'acpAgents.']
  for (const key of [...fails, 'acpAgents.constructor.title']) {
    expect(await ballet(world, 'settings', 'set', key, 'x')).toBe(2)
  }
  expect(await ballet(world, 'settings', 'set', 'acpAgents.mine', "agent 'not closed")).toBe(2)
  expect(world.err()).toContain('a quote is not closed')
  expect(given).toEqual([])
})
