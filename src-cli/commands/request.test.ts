import { expect, test } from 'vitest'
import { ballet, request, testWorld } from '../test-world.ts'

test('requests lists what waits, and with --all what was answered', async () => {
  const asked: unknown[] = []
  const list = (input: unknown) => {
    asked.push(input)
    return [request]
  }
  const world = testWorld({ requests: { list } })
  expect(await ballet(world, 'requests')).toBe(0)
  expect(await ballet(world, 'requests', '--all', '--session', 'SHOP-1')).toBe(0)
  expect(asked).toEqual([{ state: 'open' }, { session: 'SHOP-1' }])
  expect(world.out()).toContain(request.id)
  expect(world.out()).toContain('npm test')
  const json = testWorld({ requests: { list: () => [request] } })
  expect(await ballet(json, 'requests', '--json')).toBe(0)
  expect(json.rows()).toEqual([request])
  const none = testWorld({ requests: { list: () => [] } })
  expect(await ballet(none, 'requests')).toBe(0)
  expect(none.out()).toBe('Nothing waits for permission.\n')
})

test('allow and deny give the answer under an id of its own', async () => {
  const given: unknown[] = []
  const answer = (state: 'allowed' | 'denied') => (input: unknown) => {
    given.push(input)
    return { ...request, state, title: 'evil\u001b[2J' }
  }
  const world = testWorld(
    { requests: { allow: answer('allowed'), deny: answer('denied') } },
    { stdin: 'use make\n' },
  )
  for (const argv of [
    ['allow', 'abcd'],
    ['allow', 'abcd', '--session'],
    ['deny', 'abcd'],
    ['deny', 'abcd', '-'],
  ]) {
    expect(await ballet(world, ...argv)).toBe(0)
  }
  expect(given).toEqual([
    { ref: 'abcd', forSession: false, commandId: expect.any(String) },
    { ref: 'abcd', forSession: true, commandId: expect.any(String) },
    { ref: 'abcd', commandId: expect.any(String) },
    { ref: 'abcd', commandId: expect.any(String), text: 'use make\n' },
  ])
  expect(world.out()).toContain('SHOP-1: denied evil')
  expect(world.out()).not.toContain('\u001b')
  expect(await ballet(world, 'deny', 'abcd', ' ', '--json')).toBe(2)
})

test.each([['allow'], ['deny']])('%s is refused to what a session started', async (command) => {
  const world = testWorld({}, { env: { BALLET_SESSION: 'x:y' } })
  expect(await ballet(world, command, 'abcd', '--json')).toBe(1)
  expect(JSON.parse(world.err())).toMatchObject({ error: { code: 'caller.session' } })
  expect(world.connectedTo).toEqual([])
})
