import { describe, expect, it } from 'vitest'
import { best, fitness } from './matches.ts'

describe('finding by what was typed', () => {
  it('needs every word, and likes beginnings', () => {
    expect(fitness('SHOP-14 Cart survives reload', 'cart reload')).toBeGreaterThan(0)
    expect(fitness('SHOP-14 Cart survives reload', 'cart price')).toBe(0)
    expect(fitness('SHOP-14 Cart', 'shop')).toBeGreaterThan(fitness('The shop', 'shop'))
    expect(fitness('The shop', 'shop')).toBeGreaterThan(fitness('Workshop', 'shop'))
  })

  it('keeps the order of equals and the limit', () => {
    expect(best(['b one', 'a one', 'none', 'a two'], (text) => text, 'one', 2)).toEqual([
      'b one',
      'a one',
    ])
    expect(best(['x', 'y'], (text) => text, '', 9)).toEqual(['x', 'y'])
  })
})
