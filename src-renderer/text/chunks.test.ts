import { describe, expect, it } from 'vitest'
import { sentence } from '../fixture/story.ts'
import { seeded } from '../fixture/world.ts'
import { chunksOf, cutText, growCut, tableHead } from './chunks.ts'

const kinds = (text: string) => chunksOf(text).map(({ kind }) => kind)

describe('cutting Markdown', () => {
  it('cuts between blocks and keeps code and tables as they are', () => {
    const text =
      'One.\n\nTwo.\n\n```ts\nlet a\n\nlet b\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nEnd.'
    expect(kinds(text)).toEqual(['markdown', 'markdown', 'code', 'table', 'markdown'])
    expect(chunksOf(text)[2]).toEqual({
      kind: 'code',
      text: 'let a\n\nlet b',
      language: 'ts',
      closed: true,
    })
    expect(chunksOf(text)[3]).toMatchObject({ rows: 1 })
  })

  it('keeps a list with blank lines in it whole, with the code in its items', () => {
    expect(kinds('1. one\n\n   ```sh\n   ls\n   ```\n\n2. two\n\nafter')).toEqual([
      'markdown',
      'markdown',
    ])
  })

  it('takes an open fence to the end', () => {
    expect(chunksOf('```py\nprint(1)')).toEqual([
      { kind: 'code', text: 'print(1)', language: 'py', closed: false },
    ])
  })

  it('does not end a fence by a shorter one', () => {
    expect(kinds('````md\n```\ninner\n```\n````\n')).toEqual(['code'])
  })

  it('cuts a very long paragraph, and loses nothing of it', () => {
    const text = 'x'.repeat(50_000)
    const chunks = chunksOf(text)
    expect(chunks.length).toBeGreaterThan(4)
    expect(chunks.map((chunk) => chunk.text).join('')).toBe(text)
  })

  it('gives the same chunks however the text grew, and the finished ones as the same objects', () => {
    const blocks = [
      '```ts\nlet a\n\nlet b\n```',
      '- one\n\n1. two\n\n   inner',
      '| a | b |\n| - | - |\n| 1 | 2 |',
      'x | y\nz',
      '1. one\n2. two',
      '~~~\nopen | a\n~~~~',
    ]
    for (let seed = 1; seed <= 12; seed += 1) {
      const random = seeded(seed)
      const text = Array.from({ length: 90 }, () =>
        random() < 0.5
          ? sentence(random, 4 + Math.floor(random() * 40))
          : (blocks[Math.floor(random() * blocks.length)] ?? ''),
      ).join(random() < 0.3 ? '\n' : '\n\n')
      let before = cutText('')
      for (let at = 0; at < text.length; at += 1 + Math.floor(random() * 40)) {
        const grown = text.slice(0, at)
        const cut = growCut(before, grown)
        expect(cut.chunks).toEqual(chunksOf(grown))
        const finished = cut.chunks.slice(0, before.settled)
        expect(finished.every((chunk, of) => chunk === before.chunks[of])).toBe(true)
        before = cut
      }
    }
  })

  it('cuts only the end of a long text again', () => {
    const paragraph = `${'word '.repeat(200)}\n\n`
    let cut = cutText(paragraph.repeat(1_500))
    for (let piece = 0; piece < 20; piece += 1) cut = growCut(cut, `${cut.text}more `)
    expect(cut.chunks.length - cut.settled).toBeLessThan(4)
    expect(cut.text.length - cut.from).toBeLessThan(3_000)
  })

  it('takes the beginning of a table', () => {
    expect(tableHead('h\n-\n1\n2\n3', 2)).toBe('h\n-\n1\n2')
    expect(tableHead('h\n-\n1', 9)).toBe('h\n-\n1')
  })
})
