import { expect, test } from 'vitest'
import { withoutCredentials } from './redact.ts'

test.each([
  [
    'fatal: https://me:pw@example.org/x.git/ not found',
    'fatal: https://example.org/x.git/ not found',
  ],
  ["'https://token@example.org/x'", "'https://example.org/x'"],
  ['ssh://git@example.org/x.git', 'ssh://git@example.org/x.git'],
  ['git+ssh://git@h ssh://me:pw@h', 'git+ssh://git@h ssh://h'],
  ['notssh://git@h', 'notssh://h'],
  ['ssh://git@h', 'ssh://git@h'],
  ['https://example.org/a@b', 'https://example.org/a@b'],
])('%s', (text, without) => {
  expect(withoutCredentials(text)).toBe(without)
})

// Each letter taken for a beginning would cost minutes; it takes a millisecond.
test('a long word costs no time', () => {
  expect(withoutCredentials('x'.repeat(400_000))).toHaveLength(400_000)
})
