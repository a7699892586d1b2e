import { describe, expect, it } from 'vitest'
import { FixtureHost } from '../../fixture/client.ts'
import { littleWorld } from '../../fixture/world.ts'
import { cancelInput, editInput, moveInput, placeAt, queueOf, steerInput } from './queue.ts'

function setUp() {
  const host = new FixtureHost(littleWorld())
  const [session] = host.world.sessions
  if (session === undefined) throw new Error('no session')
  const queue = () => queueOf(new Map(host.world.inputs.map((each) => [each.id, each])), session.id)
  return { host, session, client: host.client(), queue, texts: () => queue().map((i) => i.text) }
}

describe('the queue of a session', () => {
  it('is in the order of delivery, and a moved input stands where it was put', async () => {
    const { client, queue, texts } = setUp()
    const [first, second] = texts()
    const last = queue().at(-1)
    const before = placeAt(queue(), last?.id ?? '', 0)
    expect(before).toBe(queue()[0]?.id)
    expect(await moveInput(client, last?.id ?? '', before ?? null)).toBeNull()
    expect(texts()).toEqual([second, first])
  })

  it('says nothing to move where an input stands already, and null for the end', () => {
    const list = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
    expect(placeAt(list, 'a', 0)).toBeUndefined()
    expect(placeAt(list, 'a', -1)).toBeUndefined()
    expect(placeAt(list, 'c', 3)).toBeUndefined()
    expect(placeAt(list, 'a', 1)).toBe('c')
    expect(placeAt(list, 'a', 2)).toBeNull()
    expect(placeAt(list, 'c', 1)).toBe('b')
    expect(placeAt(list, 'x', 0)).toBeUndefined()
  })

  it('is changed, shortened and steered from; what was sent is refused', async () => {
    const { host, client, session, queue, texts } = setUp()
    const [one, two] = queue()
    expect(await editInput(client, one?.id ?? '', 'changed')).toBeNull()
    expect(texts()[0]).toBe('changed')
    expect(await cancelInput(client, one?.id ?? '')).toBeNull()
    expect(await steerInput(client, two?.id ?? '')).toBeNull()
    expect(texts()).toEqual([])
    expect(host.timeline(session.id).events.at(-1)).toMatchObject({ steer: true })
    expect(await editInput(client, two?.id ?? '', 'late')).toMatchObject({ code: 'input.sent' })
  })
})
