import { expect, test } from 'vitest'
import { maskText } from './mask.ts'

test.each([
  ['fetch https://me:hunter2@example.org/x.git', 'fetch https://me:***@example.org/x.git'],
  ['git+ssh://me:a:b@h and ftp://:pw@h', 'git+ssh://me:***@h and ftp://:***@h'],
  ['https://example.org:8080/a@b', 'https://example.org:8080/a@b'],
  ['ssh://git@example.org/x.git', 'ssh://git@example.org/x.git'],
])('%s', (text, masked) => {
  expect(maskText(text)).toBe(masked)
})

test.each(['x', '://a:', 'a:', 'Bearer ', 'sk-', '@'])('long texts of %j cost no time', (piece) => {
  const text = piece.repeat(20_000 / piece.length)
  // Each letter taken for a beginning would cost half a second a time, and the test its limit.
  const masked = maskText(text)
  for (let n = 0; n < 200; n += 1) expect(maskText(text)).toBe(masked)
})
