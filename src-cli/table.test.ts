import { expect, it } from 'vitest'
import { fitted, oneLine } from './plain-text.ts'
import { fields, table } from './table.ts'

type Row = { id: string; count: number; title: string }
const columns = [
  { head: 'ID', cell: ({ id }: Row) => id },
  { head: 'COUNT', cell: ({ count }: Row) => String(count), right: true },
  { head: 'TITLE', cell: ({ title }: Row) => title },
]
const rows: Row[] = [
  { id: 'a', count: 1, title: 'short' },
  { id: 'long-id', count: 100, title: 'a title that is much longer than the terminal is wide' },
]

it('aligns the columns', () => {
  expect(table(columns, rows, undefined)).toEqual([
    'ID       COUNT  TITLE',
    'a            1  short',
    'long-id    100  a title that is much longer than the terminal is wide',
  ])
})

it('cuts only the last column to the width of the terminal', () => {
  const lines = table(columns, rows, 40)
  expect(lines[2]).toBe('long-id    100  a title that is much lo…')
  expect(table(columns, rows, 10)[2]).toBe('long-id    100  a title tha…')
})

it('counts cells, not characters', () => {
  const [, first, second] = table(
    columns,
    [
      { id: '会議', count: 1, title: 'x' },
      { id: 'abcd', count: 1, title: 'x' },
    ],
    undefined,
  )
  expect(first).toBe('会議      1  x')
  expect(second).toBe('abcd      1  x')
  expect(fitted('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 5)).toBe('👩‍👩‍👧‍👦👩‍👩‍👧‍👦…')
})

it('keeps a cell on one line', () => {
  expect(oneLine('a\n  b\tc')).toBe('a b c')
})

it('leaves out fields without a value', () => {
  expect(
    fields([
      ['id', 'x'],
      ['reason', ''],
      ['state', 'idle'],
    ]),
  ).toEqual(['id     x', 'state  idle'])
})
