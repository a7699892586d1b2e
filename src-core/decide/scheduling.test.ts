import { expect, test } from 'vitest'
import { AgentId, ProjectId, SessionId } from '../../src-shared/ids.ts'
import { assign, type Waiting } from './scheduling.ts'

const id = (number: number) => `01930000-0000-7000-8000-${String(number).padStart(12, '0')}`
const session = (number: number) => SessionId.parse(id(number))
const shop = ProjectId.parse(id(100))
const site = ProjectId.parse(id(200))
const agents = (count: number) =>
  Array.from({ length: count }, (_, index) => AgentId.parse(`agent-${index + 1}`))

function waiting(number: number, fields: Partial<Waiting> = {}): Waiting {
  const second = String(number).padStart(2, '0')
  return {
    id: session(number),
    projectId: shop,
    state: 'queued',
    priority: 3,
    queuedAt: `2026-11-29T12:00:${second}.000Z`,
    createdAt: '2026-11-29T12:00:00.000Z',
    ...fields,
  }
}

const order = (
  all: readonly Waiting[],
  idle = 10,
  limits: Record<string, number> = {},
  held = {},
) =>
  assign({
    waiting: all,
    idle: agents(idle),
    held: new Map(Object.entries(held)),
    projects: new Map(
      [shop, site].map((project) => [project, { maxSessions: limits[project] ?? null }]),
    ),
  }).map((grant) => Number(grant.session.slice(-3)))

test('resuming first, then the priority of the ticket, then who waits longest', () => {
  const all = [
    waiting(1),
    waiting(2, { priority: 1 }),
    waiting(3, { priority: 5, state: 'resuming' }),
    waiting(4, { priority: 1 }),
    waiting(5),
    waiting(6, { state: 'resuming' }),
  ]
  expect(order(all)).toEqual([6, 3, 2, 4, 1, 5])
  expect(order(all.reverse(), 2)).toEqual([6, 3])
})

test('a project at its limit lets others pass, and loses no place', () => {
  const all = [waiting(1), waiting(2), waiting(3, { projectId: site }), waiting(4)]
  expect(order(all, 10, { [shop]: 1 })).toEqual([1, 3])
  expect(order(all, 10, { [shop]: 2 }, { [shop]: 1 })).toEqual([1, 3])
  expect(order(all, 10, { [shop]: 1 }, { [shop]: 1 })).toEqual([3])
})

test('each agent gets one session, and each session one agent', () => {
  const grants = assign({
    waiting: [waiting(1), waiting(2), waiting(3)],
    idle: agents(2),
    held: new Map(),
    projects: new Map(),
  })
  expect(new Set(grants.map(({ agent }) => agent)).size).toBe(2)
  expect(grants).toHaveLength(2)
})
