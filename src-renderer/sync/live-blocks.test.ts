import { describe, expect, it } from 'vitest'
import type { LiveUpdate } from '../../src-shared/timeline-calls.ts'
import { growBlocks, type LiveBlocks, liveLengths } from './live-blocks.ts'

const update = (block: string, offset: number, text: string): LiveUpdate => ({
  block,
  offset,
  text,
  kind: 'assistant.text',
})

const textOf = (blocks: LiveBlocks, name: string) => blocks.get(name)?.text

describe('live blocks', () => {
  it('grow at their end and keep the order in which they began', () => {
    let blocks = growBlocks(new Map(), [update('b', 0, 'he'), update('a', 0, 'x')], ['b', 'a'])
    blocks = growBlocks(blocks, [update('b', 2, 'llo')], ['b', 'a'])
    expect([...blocks.keys()]).toEqual(['b', 'a'])
    expect(textOf(blocks, 'b')).toBe('hello')
    expect(liveLengths(blocks)).toEqual({ b: 5, a: 1 })
  })

  it('take a piece that was told before without doubling it', () => {
    const blocks = growBlocks(new Map(), [update('b', 0, 'hello')], ['b'])
    expect(textOf(growBlocks(blocks, [update('b', 2, 'llo!')], ['b']), 'b')).toBe('hello!')
  })

  it('ask for the whole of a block again when a piece is missing', () => {
    const blocks = growBlocks(new Map(), [update('b', 7, 'late')], ['b'])
    expect(liveLengths(blocks)).toEqual({ b: 0 })
    expect(textOf(growBlocks(blocks, [update('b', 0, 'all of it')], ['b']), 'b')).toBe('all of it')
  })

  it('are dropped when they are not named any more', () => {
    const blocks = growBlocks(new Map(), [update('b', 0, 'x')], ['b'])
    expect(growBlocks(blocks, [], []).size).toBe(0)
  })

  it('are the same map when nothing is new', () => {
    const blocks = growBlocks(new Map(), [update('b', 0, 'x')], ['b'])
    expect(growBlocks(blocks, [], ['b'])).toBe(blocks)
  })
})
