import { describe, expect, it } from 'vitest'
import { INLINE_LIMIT_BYTES } from '../../src-shared/timeline.ts'
import { cutText, oneLine } from './cut-text.ts'
import { SecretMask } from './mask-secrets.ts'

describe('cutting texts', () => {
  it('leaves what fits', () => {
    expect(cutText('short')).toEqual({ text: 'short' })
    expect(cutText('€'.repeat(5_461))).toEqual({ text: '€'.repeat(5_461) })
  })

  it.each(['x', 'ä', '€', '😀', 'a😀'])('cuts between characters: %s', (unit) => {
    const whole = unit.repeat(20_000)
    const { text, blob } = cutText(whole)
    expect(blob?.text).toBe(whole)
    expect(blob?.id).toMatch(/^[0-9a-f]{64}$/)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(INLINE_LIMIT_BYTES)
    expect(Buffer.byteLength(text)).toBeGreaterThan(INLINE_LIMIT_BYTES - 5)
    expect(whole.startsWith(text)).toBe(true)
    expect(text).not.toContain('\uFFFD')
  })

  it('makes one line of many', () => {
    expect(oneLine('  one ')).toBe('one')
    expect(oneLine('one\ntwo')).toBe('one …')
    expect(oneLine('x'.repeat(300))).toBe(`${'x'.repeat(199)}…`)
    expect(oneLine('')).toBe('')
  })
})

describe('masking secrets', () => {
  const mask = new SecretMask({
    API_KEY: 'k-12345678',
    LONGER_TOKEN: 'k-12345678-more',
    DB_PASSWORD: 'quo"te\\d!',
    SHORT_KEY: 'short',
    HOME: '/home/somebody',
  })

  it('replaces the values of secret names, longest first, also inside JSON', () => {
    expect(mask.mask('a k-12345678 b k-12345678-more c')).toBe('a [API_KEY] b [LONGER_TOKEN] c')
    expect(mask.mask(JSON.stringify({ p: 'quo"te\\d!' }))).toBe('{"p":"[DB_PASSWORD]"}')
    expect(mask.mask('short /home/somebody')).toBe('short /home/somebody')
  })

  it('knows more names, and the password of an address under any name', () => {
    const more = new SecretMask({
      MYSQL_PASS: 'pass-12345',
      GPG_PASSPHRASE: 'phrase-12345',
      GITHUB_PAT: 'pat-12345678',
      COMPASS: 'north-north-west',
      DATABASE_URL: 'postgres://ada:long-password@db/shop',
      REDIS: 'redis://:word@cache',
    })
    const text = 'pass-12345 phrase-12345 pat-12345678 north-north-west'
    expect(more.mask(text)).toBe('[MYSQL_PASS] [GPG_PASSPHRASE] [GITHUB_PAT] north-north-west')
    expect(more.mask('to postgres://ada:long-password@db/shop')).toBe(
      'to postgres://ada:[DATABASE_URL]@db/shop',
    )
    expect(more.mask('a word to redis://:word@cache')).toBe('a word to redis://:[REDIS]@cache')
  })

  it('finds a value that arrives in pieces of any size', () => {
    const whole = 'before k-12345678 and k-12345678-more and k-1234 after.'
    for (let size = 1; size <= whole.length; size += 1) {
      const stream = mask.stream()
      let shown = ''
      for (let at = 0; at < whole.length; at += size)
        shown += stream.push(whole.slice(at, at + size))
      expect(shown).not.toContain('k-12345678')
      expect(shown).toBe('before [API_KEY] and [LONGER_TOKEN] and k-1234 after.')
    }
  })
})
