import { expect, it } from 'vitest'
import { Settings } from '../../src-shared/settings.ts'
import { ballet, input, project, testWorld, ticket } from '../test-world.ts'

const PNG = Uint8Array.from(Buffer.from('89504e470d0a1a0a0000', 'hex'))

/** Answers a call, and keeps what it was asked. */
function asked<T>(answer: T) {
  const calls: Record<string, unknown>[] = []
  const call = (given: never) => {
    calls.push(given)
    return answer
  }
  return { calls, call }
}

it('queued messages are edited, cancelled, moved and steered', async () => {
  const edit = asked({ ...input, text: 'new' })
  const cancel = asked({ ...input, state: 'cancelled' })
  const move = asked(input)
  const steer = asked({ ...input, state: 'sent', steer: true })
  const world = testWorld(
    { inputs: { edit: edit.call, cancel: cancel.call, move: move.call, steer: steer.call } },
    { stdin: 'from the pipe' },
  )
  expect(await ballet(world, 'input', 'edit', 'abcd', '-')).toBe(0)
  expect(await ballet(world, 'input', 'cancel', 'abcd')).toBe(0)
  expect(await ballet(world, 'input', 'move', 'abcd', '--before', 'ef01')).toBe(0)
  expect(await ballet(world, 'input', 'move', 'abcd', '--last')).toBe(0)
  expect(await ballet(world, 'input', 'steer', 'abcd', '--json')).toBe(0)
  expect(edit.calls).toMatchObject([{ ref: 'abcd', text: 'from the pipe' }])
  expect(cancel.calls).toMatchObject([{ ref: 'abcd' }])
  expect(move.calls).toMatchObject([{ before: 'ef01' }, { before: null }])
  expect(world.out()).toContain(`${input.id} is cancelled.`)
  expect(world.out()).toContain('"steer":true')
})

it('a place for a message must be named, and only one', async () => {
  for (const words of [[], ['--last', '--before', 'ef01']]) {
    const world = testWorld({})
    expect(await ballet(world, 'input', 'move', 'abcd', ...words)).toBe(2)
    expect(world.err()).toContain('--last')
  }
  const world = testWorld({})
  expect(await ballet(world, 'input', 'edit', 'abcd', '  ')).toBe(2)
})

it('a message is steered, and says so where it could not be', async () => {
  const send = asked({
    ...input,
    notSteered: { code: 'steer.no-turn', message: 'No turn of SHOP-1 runs.' },
  })
  const world = testWorld({ sessions: { send: send.call } })
  expect(await ballet(world, 'send', 'SHOP-1', 'left', '--steer')).toBe(0)
  expect(send.calls).toMatchObject([{ text: 'left', steer: true }])
  expect(world.out()).toBe(`${input.id}: queued: not steered. No turn of SHOP-1 runs.\n`)
})

it('images are read from files, by what they are', async () => {
  const send = asked(input)
  const files = {
    '/home/person/work/shot.txt': PNG,
    '/tmp/words.png': Uint8Array.from(Buffer.from('no image')),
    '/tmp/huge.png': new Uint8Array(5_000_001),
  }
  const world = testWorld({ sessions: { send: send.call } }, { files })
  expect(await ballet(world, 'send', 'SHOP-1', '', '--image', 'shot.txt')).toBe(0)
  expect(send.calls).toMatchObject([
    { text: '', images: [{ mediaType: 'image/png', data: Buffer.from(PNG).toString('base64') }] },
  ])
  for (const [file, why] of [
    ['/tmp/words.png', 'no image of a known type'],
    ['/tmp/huge.png', '5 MB at most'],
    ['/tmp/none.png', 'cannot be read'],
  ] as const) {
    const bad = testWorld({}, { files })
    expect(await ballet(bad, 'send', 'SHOP-1', 'x', '--image', file)).toBe(2)
    expect(bad.err()).toContain(why)
  }
  const many = Array.from({ length: 11 }, () => ['--image', 'shot.txt']).flat()
  const bad = testWorld({}, { files })
  expect(await ballet(bad, 'send', 'SHOP-1', 'x', ...many)).toBe(2)
  expect(bad.err()).toContain('10 images at most')
})

it('a project is edited: what is named, and empty texts for nothing', async () => {
  const edit = asked(project)
  const world = testWorld({ projects: { edit: edit.call } })
  const words = ['--model', '', '--env', 'A=1', '--unset-env', 'B', '--max-sessions', '0']
  expect(await ballet(world, 'project', 'edit', 'Shop', ...words, '--no-args')).toBe(0)
  const { commandId: _, ...change } = edit.calls[0] ?? {}
  expect(change).toEqual({
    ref: 'Shop',
    model: null,
    env: { A: '1', B: null },
    maxSessions: null,
    runtimeArgs: [],
  })
  expect(await ballet(testWorld({}), 'project', 'edit', 'Shop')).toBe(2)
})

it('a ticket is edited; only some statuses can be given', async () => {
  const edit = asked({ ...ticket, status: 'Done' })
  const world = testWorld({ tickets: { edit: edit.call } }, { stdin: 'a body' })
  const words = ['--status', 'Done', '--priority', '1', '--body', '-']
  expect(await ballet(world, 'ticket', 'edit', 'SHOP-1', ...words)).toBe(0)
  expect(edit.calls).toMatchObject([{ ref: 'SHOP-1', status: 'Done', priority: 1, body: 'a body' }])
  expect(await ballet(testWorld({}), 'ticket', 'edit', 'SHOP-1')).toBe(2)
  expect(await ballet(testWorld({}), 'ticket', 'edit', 'SHOP-1', '--status', 'In progress')).toBe(2)
})

it('settings are shown and set by name', async () => {
  const settings = Settings.parse({ passEnv: ['A'] })
  const edit = asked(settings)
  const world = testWorld({ settings: { show: () => settings, edit: edit.call } })
  expect(await ballet(world, 'settings', 'show')).toBe(0)
  expect(world.out()).toMatch(/agents\s+3/)
  expect(world.out()).toMatch(/planner\.enabled\s+on/)
  for (const [key, value] of [
    ['agents', '5'],
    ['theme', 'dark'],
    ['passEnv', 'A, B'],
    ['runtimePaths.claude-code', '/opt/claude'],
    ['runtimePaths.claude-code', ''],
    ['notify', 'question,ended'],
    ['notify', ''],
    ['answerUndo', 'off'],
    ['planner.enabled', 'on'],
    ['planner.limitSeconds', '30'],
    ['planner.costLimitUsd', '0.25'],
    ['planner.model', ''],
  ] as const) {
    expect(await ballet(world, 'settings', 'set', key, value)).toBe(0)
  }
  expect(edit.calls.map(({ commandId: _, ...change }) => change)).toEqual([
    { agents: 5 },
    { theme: 'dark' },
    { passEnv: ['A', 'B'] },
    { runtimePaths: { 'claude-code': '/opt/claude' } },
    { runtimePaths: { 'claude-code': null } },
    { notify: ['question', 'ended'] },
    { notify: [] },
    { answerUndo: false },
    { planner: { enabled: true } },
    { planner: { limitSeconds: 30 } },
    { planner: { costLimitUsd: 0.25 } },
    { planner: { model: null } },
  ])
  for (const [key, value] of [
    ['agents', '0'],
    ['agents', 'many'],
    ['theme', 'pink'],
    ['passEnv', 'NOT-A-NAME'],
    ['runtimePaths.claude-code', 'claude'],
    ['runtimePaths.other', '/opt/other'],
    ['colour', 'red'],
    ['notify', 'everything'],
    ['answerUndo', 'yes'],
    ['planner', 'on'],
    ['planner.toString', 'on'],
    ['planner.limitSeconds', '1'],
    ['planner.costLimitUsd', '1e9'],
  ] as const) {
    expect(await ballet(testWorld({}), 'settings', 'set', key, value)).toBe(2)
  }
})

it('says of a number what is wrong with it, and of a list what is wrong in it', async () => {
  const small = testWorld({})
  expect(await ballet(small, 'settings', 'set', 'planner.limitSeconds', '-4')).toBe(2)
  expect(small.err()).toContain('Too small')
  const kind = testWorld({})
  expect(await ballet(kind, 'project', 'edit', 'Shop', '--notify', 'foo')).toBe(2)
  expect(kind.err()).toContain('Invalid option')
  expect(kind.err()).not.toContain('0:')
})

it('shows that there are no notifications', async () => {
  const world = testWorld({ projects: { show: () => ({ ...project, notify: [] }) } })
  expect(await ballet(world, 'project', 'show', 'Shop')).toBe(0)
  expect(world.out()).toMatch(/^notifications +none$/m)
})

it('a project gets sources, planner, skill and notifications', async () => {
  const add = asked(project)
  const edit = asked(project)
  const world = testWorld(
    { projects: { add: add.call, edit: edit.call } },
    {
      files: { '/home/person/work/skill.md': Buffer.from('Ask about taste.\n') },
      stdin: 'from the pipe',
    },
  )
  const made = ['project', 'add', '--name', 'n', '--repo', 'r']
  const rest = ['--source', 'docs/**', '--source', '/srv/adr', '--no-planner', '--notify', 'ended']
  expect(await ballet(world, ...made, ...rest, '--skill', '@skill.md')).toBe(0)
  expect(await ballet(world, ...made)).toBe(0)
  expect(add.calls).toMatchObject([
    {
      sources: ['docs/**', '/srv/adr'],
      planner: false,
      notify: ['ended'],
      skill: 'Ask about taste.\n',
    },
    {},
  ])
  for (const key of ['sources', 'planner', 'notify', 'skill']) {
    expect(add.calls[1]).not.toHaveProperty(key)
  }
  for (const words of [
    ['--no-sources', '--planner', '--notify', ''],
    ['--source', 'README.md', '--no-planner'],
    ['--skill', 'Never ask.'],
    ['--skill', '-'],
    ['--skill', ''],
  ]) {
    expect(await ballet(world, 'project', 'edit', 'n', ...words)).toBe(0)
  }
  expect(edit.calls.map(({ commandId: _, ref: __, ...change }) => change)).toEqual([
    { sources: [], planner: true, notify: [] },
    { sources: ['README.md'], planner: false },
    { skill: 'Never ask.' },
    { skill: 'from the pipe' },
    { skill: null },
  ])
  expect(await ballet(testWorld({}), ...made, '--notify', 'all')).toBe(2)
  expect(await ballet(testWorld({}), ...made, '--skill', '@gone.md')).toBe(2)
  expect(await ballet(testWorld({}), ...made, '--skill', 'x'.repeat(50_001))).toBe(2)
})
