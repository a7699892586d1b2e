import { expect, it } from 'vitest'
import type { InboxItem } from '../../../src-shared/inbox.ts'
import type { Session } from '../../../src-shared/records.ts'
import { fixtureSession, littleWorld } from '../../fixture/world.ts'
import { overviewGroups } from './groups.ts'

const [ticket] = littleWorld().tickets
if (ticket === undefined) throw new Error('the little world has no ticket')

const item = (session: Session, kind: InboxItem['kind'], id: string): InboxItem => ({
  kind,
  id: id as never,
  session: session.id,
  ticket: session.ticket,
  project: session.project,
  text: '',
  since: session.updatedAt,
  parkAt: null,
})

it('what waits for the person is what the inbox has, as many and in its order; nobody is listed twice', () => {
  const asks = fixtureSession(ticket, 'parked', { openQuestions: 2 })
  const needs = fixtureSession(ticket, 'working', { openRequests: 1 })
  const works = fixtureSession(ticket, 'working')
  const planned = fixtureSession(ticket, 'waiting', { openQuestions: 1 })
  const stopped = fixtureSession(ticket, 'parked')
  const over = fixtureSession(ticket, 'failed', { ticketOver: true })
  const all = [works, over, stopped, planned, asks, needs, fixtureSession(ticket, 'finished')]
  const items = [
    item(needs, 'request', 'r'),
    item(asks, 'question', 'q1'),
    item(asks, 'question', 'q2'),
    item(works, 'assumption', 'a'),
  ]
  const groups = overviewGroups(items, new Map(all.map((session) => [session.id, session])))
  expect(groups.map(({ title, count }) => `${title} ${count}`)).toEqual([
    ...['Waits for you 3', 'At work 2', 'Parked 1'],
  ])
  expect(groups.map(({ sessions }) => sessions)).toEqual([
    [needs, asks],
    expect.arrayContaining([works, planned]),
    [stopped],
  ])
})
