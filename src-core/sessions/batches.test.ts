import { expect, test } from 'vitest'
import { BlobText, ItemBatch } from '../../src-shared/agent-wire.ts'
import { freshItems, takeBatches } from './batches.ts'

const at = '2026-11-29T12:00:00.000Z'

const batch = (from: number, ...texts: string[]) =>
  ItemBatch.parse({
    lease: '01930000-0000-7000-8000-000000000001',
    from,
    items: texts.map((text) => ({
      type: 'event',
      at,
      event: { kind: 'assistant.text', text },
    })),
    blobs: texts.map((text) => BlobText.parse({ id: text, text })),
  })

const texts = (batches: Parameters<typeof freshItems>[0], last: number) => {
  const { items, ...rest } = freshItems(batches, last)
  return {
    ...rest,
    blobs: undefined,
    texts: items.map((item) =>
      item.type === 'event' && item.event.kind === 'assistant.text' ? item.event.text : '?',
    ),
  }
}

test('each item once, whatever is said again in between', () => {
  const said = [batch(1, 'a', 'b'), batch(3, 'c'), batch(1, 'a', 'b'), batch(2, 'b', 'c', 'd')]
  expect(texts(said, 0)).toMatchObject({ texts: ['a', 'b', 'c', 'd'], last: 4, gap: false })
  expect(texts(said, 2)).toMatchObject({ texts: ['c', 'd'], last: 4, gap: false })
  expect(texts(said, 9)).toMatchObject({ texts: [], last: 9, gap: false })
})

test('nothing is stored past a gap', () => {
  expect(texts([batch(1, 'a'), batch(3, 'c'), batch(2, 'b')], 0)).toMatchObject({
    texts: ['a'],
    last: 1,
    gap: true,
  })
})

test('a commit takes what fits, at least one batch', () => {
  const large = batch(1, ...Array.from({ length: 1_000 }, () => 'x'))
  const small = batch(1_001, 'y')
  expect(takeBatches([large, small])).toEqual([large])
  expect(takeBatches([small, small, large])).toEqual([small, small])
  expect(takeBatches([])).toEqual([])
})
