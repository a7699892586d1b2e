import { describe, expect, it } from 'vitest'
import {
  cutLines,
  LINE_LIMIT,
  lastLines,
  lineAt,
  lineCount,
  lineStarts,
  linesUpTo,
} from './lines.ts'

describe('lines of a text', () => {
  it('are counted as an editor counts them', () => {
    expect(['', 'a', 'a\n', 'a\nb', '\n\n'].map(lineCount)).toEqual([1, 1, 1, 2, 2])
    expect([...lineStarts('a\nbc\n\nd')]).toEqual([0, 2, 5, 6])
    expect([...lineStarts('a\n')]).toEqual([0])
    expect(lineStarts('x\n'.repeat(100_000))).toHaveLength(100_000)
  })

  it('know what is in them', () => {
    const starts = lineStarts('a\nbc\n\nd')
    expect([0, 1, 2, 3, 5, 6, 99].map((offset) => lineAt(starts, offset))).toEqual([
      0, 0, 1, 1, 2, 3, 3,
    ])
  })

  it('are cut from both ends', () => {
    expect(linesUpTo('a\nb\nc', 2)).toBe('a\nb')
    expect(linesUpTo('a', 2)).toBe('a')
    expect(lastLines('a\nb\nc\n', 2)).toBe('b\nc\n')
    expect(lastLines('a', 2)).toBe('a')
  })

  it('that are too long to draw are cut, and say by how much', () => {
    const long = 'x'.repeat(LINE_LIMIT + 1_500)
    expect(cutLines(`a\n${long}\nb`)).toBe(
      `a\n${'x'.repeat(LINE_LIMIT)} … 1,500 more characters\nb`,
    )
    const short = 'a\nb'
    expect(cutLines(short)).toBe(short)
  })
})
