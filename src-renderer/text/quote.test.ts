import { describe, expect, it } from 'vitest'
import { findQuote } from './quote.ts'

const text = 'Prefer the platform.\nPrefer the\n   platform over packages (always).\n'

describe('the place of a quote', () => {
  it('is found over line feeds, with white space folded and nothing else', () => {
    const place = findQuote(text, ' Prefer the platform  over packages ')
    expect(place && text.slice(place.from, place.to)).toBe('Prefer the\n   platform over packages')
    expect(findQuote(text, 'prefer the platform')).toBeUndefined()
    expect(findQuote(text, '  ')).toBeUndefined()
  })

  it('takes signs as they are', () => {
    const place = findQuote(text, '(always).')
    expect(place && text.slice(place.from, place.to)).toBe('(always).')
    expect(findQuote(text, '(always)!')).toBeUndefined()
  })

  it('is the one at the line that was named, else the first', () => {
    expect(findQuote(text, 'Prefer the', 5)?.from).toBe(21)
    expect(findQuote(text, 'Prefer the', 60)?.from).toBe(0)
  })
})
