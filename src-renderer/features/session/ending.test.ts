import { expect, it } from 'vitest'
import { confirmText, whyNot } from './ending.ts'

const session = {
  ticket: 'SHOP-1',
  branch: 'ballet/SHOP-1-abc123',
  state: 'waiting',
  queuedInputs: 0,
} as Parameters<typeof confirmText>[1]

it('says all that a finish does before it is done', () => {
  const { ask } = confirmText('finish', session)
  for (const word of ['SHOP-1', 'committed', session.branch, 'workspace is removed', 'Done']) {
    expect(ask).toContain(word)
  }
  expect(ask).not.toContain('queued')
  const queued = confirmText('finish', { ...session, queuedInputs: 2 }).ask
  expect(queued).toContain('2 queued messages are not delivered')
})

it('says what a stop keeps, and that nothing was begun where nothing was', () => {
  expect(confirmText('stop', session).ask).toContain('workspace are kept')
  expect(confirmText('stop', { ...session, state: 'working' }).ask).toContain('Its turn ends')
  const queued = confirmText('stop', { ...session, state: 'queued' }).ask
  expect(queued).toContain('leaves the queue')
  expect(queued).not.toContain('pushed')
})

it('knows when a session can be ended how, and why not', () => {
  expect(whyNot('finish', 'waiting')).toBeNull()
  expect(whyNot('finish', 'parked')).toBeNull()
  expect(whyNot('finish', 'working')).toContain('interrupt')
  expect(whyNot('stop', 'working')).toBeNull()
  expect(whyNot('stop', 'parked')).toContain('parked')
  expect(whyNot('finish', 'finished')).toContain('finished')
})
