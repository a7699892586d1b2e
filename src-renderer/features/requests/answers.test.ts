import { describe, expect, it } from 'vitest'
import { FixtureHost } from '../../fixture/client.ts'
import { fixtureRequest, littleWorld } from '../../fixture/world.ts'
import { answerRequest, isOverAlready, requestAct } from './answers.ts'

const press = (key: string, more: Partial<Parameters<typeof requestAct>[0]> = {}) =>
  requestAct({ key, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more })

function setUp() {
  const host = new FixtureHost(littleWorld())
  const [session] = host.world.sessions
  if (session === undefined) throw new Error('no session')
  const request = fixtureRequest(session, { title: 'npm test' })
  host.world.requests.push(request)
  return { host, session, request }
}

describe('keys of a request', () => {
  it('answer it, and nothing with a modifier does', () => {
    expect(press('Enter')).toBe('allow')
    expect(press('s')).toBe('allow-for-session')
    expect(press('d')).toBe('deny')
    expect(press('S', { shiftKey: true })).toBeNull()
    expect(press('d', { ctrlKey: true })).toBeNull()
    expect(press('Enter', { altKey: true })).toBeNull()
    expect(press(' ')).toBeNull()
  })
})

describe('answering a request', () => {
  it('from two windows counts once, and the second is told that it is over', async () => {
    const { host, session, request } = setUp()
    const [first, second] = [host.client(), host.client()]
    const told = await Promise.all([
      answerRequest(first, request.id, { outcome: 'allow' }),
      answerRequest(second, request.id, { outcome: 'deny', text: 'no' }),
    ])
    expect(told[0]).toBeNull()
    expect(told[1] !== null && isOverAlready(told[1])).toBe(true)
    const closed = host.timeline(session.id).events.filter(({ kind }) => kind === 'request.closed')
    expect(closed).toMatchObject([{ outcome: 'allowed' }])
  })

  it('hands over the reason of a denial, and none where none was written', async () => {
    const { host, session, request } = setUp()
    await answerRequest(host.client(), request.id, { outcome: 'deny', text: '  use pnpm ' })
    const last = host.timeline(session.id).events.find(({ kind }) => kind === 'request.closed')
    expect(last).toMatchObject({ outcome: 'denied', text: 'use pnpm' })
  })

  it('tells why a host that is away has no answer', async () => {
    const { host, request } = setUp()
    host.up = false
    const refusal = await answerRequest(host.client(), request.id, { outcome: 'allow' })
    expect(refusal).toMatchObject({ code: 'host.away' })
    expect(refusal !== null && isOverAlready(refusal)).toBe(false)
  })
})
