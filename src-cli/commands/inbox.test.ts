import { expect, it } from 'vitest'
import type { RecordChange, RecordFollow } from '../../src-shared/contract.ts'
import type { InboxItem } from '../../src-shared/inbox.ts'
import type { Question } from '../../src-shared/questions.ts'
import type { Session } from '../../src-shared/records.ts'
import {
  assumption,
  ballet,
  fakeConnection,
  project,
  question,
  request,
  session,
  testWorld,
} from '../test-world.ts'

const AT = Date.parse(question.createdAt)

const item: InboxItem = {
  kind: 'question',
  id: question.id,
  session: session.id,
  ticket: session.ticket,
  project: 'Shop',
  text: 'Which\ndatabase?\u001b[2J',
  since: question.createdAt,
  parkAt: new Date(AT + 20 * 60_000).toISOString(),
}

it('inbox lists what waits, how long, and by which name to answer it', async () => {
  const asked: unknown[] = []
  const calls = {
    inbox: {
      list: (given: unknown) => {
        asked.push(given)
        return [item, { ...item, kind: 'request' as const, id: request.id, parkAt: null }]
      },
    },
    questions: { list: () => [question] },
  }
  const world = testWorld(calls, { now: () => AT + 12.5 * 60_000 })
  expect(await ballet(world, 'inbox', '--project', 'Shop', '--kind', 'question')).toBe(0)
  expect(asked).toEqual([{ project: 'Shop', kind: 'question' }])
  const [, first, second] = world.out().split('\n')
  expect(first).toMatch(/^question +SHOP-1 +12m +7m +SHOP-1-Q2 +Which database\?$/)
  expect(second).toMatch(new RegExp(`^request +SHOP-1 +12m +${request.id} `))
  const json = testWorld(calls)
  expect(await ballet(json, 'inbox', '--json')).toBe(0)
  expect(json.rows()[0]).toEqual(item)
  const none = testWorld({ inbox: { list: () => [] } })
  expect(await ballet(none, 'inbox')).toBe(0)
  expect(none.out()).toBe('Nothing waits for you.\n')
  expect(await ballet(testWorld({}), 'inbox', '--kind', 'mail')).toBe(2)
})

const changed = {
  session: (value: Session): RecordChange => ({ record: 'session', id: value.id, value }),
  question: (value: Question): RecordChange => ({ record: 'question', id: value.id, value }),
}
const waiting: Session = { ...session, state: 'waiting', stateSince: '2026-01-02T04:00:00.000Z' }
const working: Session = { ...session, state: 'working' }

/** A host that tells these changes one after another; then it stops the watch, or dies where the list says so. */
function hosts(...lives: (RecordFollow | RecordChange[])[][]) {
  const cursors: unknown[] = []
  let connected = 0
  const world = testWorld({}, { connect: async () => connect() })
  const connect = () => {
    const answers = [...(lives[connected] ?? [])]
    connected += 1
    const isLast = connected === lives.length
    let isOpen = true
    return fakeConnection(
      {
        projects: { show: () => project },
        records: {
          follow: ({ cursor }: { cursor?: string }) => {
            cursors.push(cursor)
            const next = answers.shift()
            if (next !== undefined) {
              if (!Array.isArray(next)) return next
              return { cursor: `c${cursors.length}`, snapshot: cursor === undefined, changes: next }
            }
            if (!isLast) {
              isOpen = false
              throw new Error('the connection is closed')
            }
            world.stop()
            throw new Error('aborted')
          },
        },
      },
      () => isOpen,
    )
  }
  return { world, cursors }
}

const lines = (text: string) => text.split('\n').filter((line) => line !== '')

it('watch prints what waits, then each new thing once, and ends in order at the signal', async () => {
  const { world, cursors } = hosts([
    [changed.session(waiting)],
    [changed.session(working), changed.question({ ...question, heldBy: 'planner' })],
    [changed.question(question)],
    [changed.question({ ...question, context: 'more' })],
    [
      { record: 'question', id: question.id, value: null },
      { record: 'assumption', id: assumption.id, value: assumption },
      { record: 'request', id: request.id, value: request },
    ],
    [
      { record: 'request', id: request.id, value: null },
      changed.session({ ...waiting, stateSince: '2026-01-02T05:00:00.000Z' }),
    ],
  ])
  expect(await ballet(world, 'watch')).toBe(0)
  expect(lines(world.out())).toEqual([
    `waiting  SHOP-1  ${session.id}  It waits for a word.`,
    'question  SHOP-1  SHOP-1-Q2  Which database?',
    `request  SHOP-1  ${request.id}  Bash: npm test`,
    `assumption  SHOP-1  ${assumption.id}  Prices are in euro.`,
    `waiting  SHOP-1  ${session.id}  It waits for a word.`,
  ])
  expect(cursors).toEqual([undefined, 'c1', 'c2', 'c3', 'c4', 'c5', 'c6'])
})

it('watch cuts a long text to the width of the terminal', async () => {
  const long = { ...question, question: 'Which database? '.repeat(20) }
  const { world } = hosts([[changed.session(working), changed.question(long)]])
  world.stdout.columns = 50
  expect(await ballet(world, 'watch')).toBe(0)
  expect(lines(world.out())).toEqual(['question  SHOP-1  SHOP-1-Q2  Which database? Whic…'])
})

it('watch goes on with the next host and tells nothing twice', async () => {
  const late = { ...question, id: assumption.id as unknown as Question['id'], key: 'SHOP-1-Q3' }
  const { world, cursors } = hosts(
    [[changed.session(working), changed.question(question)]],
    [[changed.session(working), changed.question(question), changed.question(late)]],
  )
  expect(await ballet(world, 'watch', '--kind', 'question')).toBe(0)
  expect(lines(world.out()).map((line) => line.split('  ')[2])).toEqual(['SHOP-1-Q2', 'SHOP-1-Q3'])
  expect(world.err()).toBe('The host is gone; waiting for it.\nIt is back.\n')
  expect(cursors).toEqual([undefined, 'c1', undefined, 'c3'])
})

it('watch as JSON prints inbox items, of one project', async () => {
  const other = { ...question, id: assumption.id as unknown as Question['id'] }
  const elsewhere = {
    ...working,
    id: request.id as unknown as Session['id'],
    projectId: ticketOf('other'),
  }
  const { world } = hosts([
    [
      changed.session(working),
      changed.session(elsewhere),
      changed.question(question),
      changed.question({ ...other, session: elsewhere.id }),
    ],
  ])
  expect(await ballet(world, 'watch', '--project', 'Shop', '--json')).toBe(0)
  expect(world.rows()).toEqual([
    {
      kind: 'question',
      id: question.id,
      session: session.id,
      ticket: 'SHOP-1',
      project: 'Shop',
      text: 'Which database?',
      since: question.reachedPersonAt,
      parkAt: null,
    },
  ])
})

it('watch fails where no host runs', async () => {
  const world = testWorld(undefined)
  expect(await ballet(world, 'watch', '--json')).toBe(1)
  expect(JSON.parse(world.err())).toMatchObject({ error: { code: expect.any(String) } })
})

function ticketOf(name: string) {
  return `0197c0de-2222-7000-8000-00000000000${name.length}` as Session['projectId']
}
