import { describe, expect, it } from 'vitest'
import { FixtureHost } from '../../fixture/client.ts'
import { littleWorld } from '../../fixture/world.ts'
import type { Client } from '../../sync/client.ts'
import { give } from './steer.ts'

function setUp() {
  const host = new FixtureHost(littleWorld())
  const [session] = host.world.sessions
  if (session === undefined) throw new Error('no session')
  const ids: (string | undefined)[] = []
  const client = host.client()
  const send: Client['sessions']['send'] = (input, ...rest) => {
    ids.push(input.input)
    return client.sessions.send(input, ...rest)
  }
  return { host, session, ids, client: { ...client, sessions: { ...client.sessions, send } } }
}

describe('giving a message', () => {
  it('that failed keeps its id, so that the same text is the same input', async () => {
    const { host, session, ids, client } = setUp()
    host.up = false
    expect(await give(client, session.id, 'hello', 'queue')).toMatchObject({
      given: false,
      refusal: { code: 'host.away' },
    })
    host.up = true
    expect(await give(client, session.id, 'hello', 'queue')).toEqual({ given: true, refusal: null })
    expect(ids[0]).toBe(ids[1])
    expect(host.world.inputs.filter(({ text }) => text === 'hello')).toHaveLength(1)
  })

  it('that was changed meanwhile is another input', async () => {
    const { host, session, ids, client } = setUp()
    host.up = false
    await give(client, session.id, 'hello', 'queue')
    host.up = true
    await give(client, session.id, 'hello!', 'queue')
    await give(client, session.id, 'hello', 'queue')
    expect(new Set(ids).size).toBe(3)
  })

  it('tells Core’s own reason and next step', async () => {
    const { session, client } = setUp()
    const { refusal } = await give(client, session.id, 'please refuse', 'queue')
    expect(refusal).toMatchObject({ code: 'disk.full', hint: expect.stringContaining('Free') })
  })
})
