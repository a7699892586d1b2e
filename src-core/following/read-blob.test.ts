import { expect, test } from 'vitest'
import { BlobId, SessionId } from '../../src-shared/ids.ts'
import { HandClock } from '../testing/hand-clock.ts'
import { countingIds } from '../testing/test-core.ts'
import { LastBlob } from './read-blob.ts'

test('a text that is read in pieces is read from storage once, and kept for a moment only', async () => {
  const clock = new HandClock()
  const ids = countingIds()
  const session = SessionId.parse(ids.uuid())
  const [one, two] = ['a', 'b'].map((letter) => BlobId.parse(letter.repeat(64)))
  if (one === undefined || two === undefined) throw new Error('no ids')
  let reads = 0
  const storage = {
    blob: async (_: SessionId, blob: BlobId) => {
      reads += 1
      return blob === two ? 'x'.repeat(17 * 1024 * 1024) : 'text'
    },
  }
  const last = new LastBlob({ storage, clock })
  expect(await last.read(session, one)).toBe('text')
  expect(await last.read(session, one)).toBe('text')
  expect(reads).toBe(1)
  clock.turn(10_000)
  await last.read(session, one)
  expect(reads).toBe(2)
  last.forget(session)
  await last.read(session, one)
  expect(reads).toBe(3)
  // Too large to be kept.
  await last.read(session, two)
  await last.read(session, two)
  expect(reads).toBe(5)
})
