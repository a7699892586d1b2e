import { expect, test } from 'vitest'
import { bodyFor, plainText } from './text.ts'

const text = (given: string, max = 50) => plainText(given, max).text

test('a text that fits stays as it is', () => {
  expect(plainText('Which limiter? 👩‍💻 “quoted”', 50)).toEqual({
    text: 'Which limiter? 👩‍💻 “quoted”',
    whole: true,
  })
  expect(plainText('  two\nlines\tand a tab ', 50)).toEqual({
    text: 'two lines and a tab',
    whole: true,
  })
  expect(plainText('', 50)).toEqual({ text: '', whole: true })
})

test('control codes, direction controls and halves of characters are taken out, and that is told', () => {
  const given = 'a\u0000b\u001b[31mc\u202Ed\u2066e\u200Bf\uFEFFg\uD800h\u2028i'
  expect(plainText(given, 50)).toEqual({ text: 'ab[31mcdefgh i', whole: false })
})

test('a long text is cut at whole characters, and that is told', () => {
  expect(plainText('x'.repeat(60), 50)).toEqual({ text: `${'x'.repeat(49)}…`, whole: false })
  expect(plainText('x'.repeat(50), 50)).toEqual({ text: 'x'.repeat(50), whole: true })
  expect(text('😀'.repeat(60))).toBe(`${'😀'.repeat(49)}…`)
})

test('what hides in much white space or in much that is invisible is not called whole', () => {
  expect(plainText(`npm test${' '.repeat(1_000)}; rm -rf ~`, 50).whole).toBe(false)
  expect(plainText(`npm test${'\u200b'.repeat(1_000)}; rm -rf ~`, 50).whole).toBe(false)
})

test('a body cannot be markup', () => {
  const given = '<b>yes</b> & <a href="file:///etc">x</a> &amp;'
  expect(bodyFor(given, true)).toBe(
    '&lt;b&gt;yes&lt;/b&gt; &amp; &lt;a href="file:///etc"&gt;x&lt;/a&gt; &amp;amp;',
  )
  expect(bodyFor(given, false)).toBe('‹b›yes‹/b› & ‹a href="file:///etc"›x‹/a› &amp;')
})
