import { expect, it } from 'vitest'
import type { Session } from '../src-shared/records.ts'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import { createContext } from './context.ts'
import { input, session, stateEvent, testWorld } from './test-world.ts'
import { countUndelivered } from './undelivered.ts'

const cancelled = (seq: number): TimelineEvent => ({
  session: session.id,
  seq,
  at: session.createdAt,
  kind: 'input.cancelled',
  input: input.id,
  inputKind: 'message',
  text: 'go on',
  author: 'person',
})

it('counts what was queued and never reached the session', async () => {
  const told = [cancelled(5), cancelled(6), cancelled(7), stateEvent(8, 'finished')]
  const world = testWorld({
    timeline: {
      page: ({ after }: { after: number }) => ({
        events: told.filter(({ seq }) => seq > after),
        last: 8,
      }),
    },
  })
  const before: Session = { ...session, state: 'waiting', lastSeq: 5, queuedInputs: 2 }
  const context = createContext(world, {})
  expect(await countUndelivered(context, before)).toBe(2)
  expect(await countUndelivered(context, { ...before, queuedInputs: 0 })).toBe(0)
})
