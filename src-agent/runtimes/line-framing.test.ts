import { describe, expect, it } from 'vitest'
import { type FramedLine, LineFramer } from './line-framing.ts'

function frame(chunks: readonly Buffer[], capBytes?: number): FramedLine[] {
  const lines: FramedLine[] = []
  const framer = new LineFramer(
    (line) => lines.push(line),
    capBytes === undefined ? {} : { capBytes },
  )
  for (const chunk of chunks) framer.push(chunk)
  framer.end()
  return lines
}

const texts = (lines: readonly FramedLine[]) =>
  lines.map((line) => (line.kind === 'line' ? line.text : line.kind))

describe('framing lines', () => {
  it('cuts at newlines, leaves out empty lines, and gives the last line without one', () => {
    expect(texts(frame([Buffer.from('a\n\nb\r\n  \nc')]))).toEqual(['a', 'b', 'c'])
    expect(frame([Buffer.from('')])).toEqual([])
  })

  it('joins characters and lines that are cut anywhere', () => {
    const text = 'ä€😀 one\n😀 two\n'
    const bytes = Buffer.from(text)
    for (let size = 1; size < bytes.length; size += 1) {
      const chunks: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
      expect(texts(frame(chunks))).toEqual(['ä€😀 one', '😀 two'])
    }
  })

  it('takes a line of exactly the cap, and keeps the head of a longer one', () => {
    const exact = 'x'.repeat(2_000)
    expect(texts(frame([Buffer.from(`${exact}\nafter`)], 2_000))).toEqual([exact, 'after'])
    const lines = frame([Buffer.from('head'), Buffer.from(`${exact}\nafter`)], 2_000)
    expect(lines).toEqual([
      { kind: 'oversized', head: `head${'x'.repeat(1_020)}`, bytes: 2_004 },
      { kind: 'line', text: 'after' },
    ])
  })

  it('does not hold a line over the cap, nor take ever longer for it', () => {
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const lines: FramedLine[] = []
    const framer = new LineFramer((line) => lines.push(line), { capBytes: 1024 * 1024 })
    const before = process.memoryUsage().arrayBuffers
    for (let n = 0; n < 16_000; n += 1) framer.push(chunk)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
    framer.push(Buffer.from('\n'))
    expect(lines).toEqual([
      { kind: 'oversized', head: 'x'.repeat(1_024), bytes: 16_000 * chunk.length },
    ])
  })

  it('takes a long line in small pieces without copying it again and again', () => {
    const piece = Buffer.alloc(100, 'x')
    const lines: FramedLine[] = []
    const framer = new LineFramer((line) => lines.push(line))
    // 20 MB in 200,000 pieces: copying at each piece would move two terabytes, and pass the test's limit.
    for (let n = 0; n < 200_000; n += 1) framer.push(piece)
    framer.push(Buffer.from('\n'))
    expect(lines).toHaveLength(1)
  })
})
