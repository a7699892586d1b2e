import { expect, test } from 'vitest'
import { commandLine, wordsOf } from './command-line.ts'

test('a command line is read in words, and written so that it is read the same', () => {
  expect(wordsOf('  my-agent   --acp "two words" \'a "b"\' x=""')).toEqual([
    'my-agent',
    '--acp',
    'two words',
    'a "b"',
    'x=',
  ])
  expect(wordsOf('agent "open')).toBeNull()
  expect(wordsOf('')).toEqual([])
  for (const words of [
    ['a', 'b c', ''],
    ["it's", 'say "hi"', 'plain'],
    [`it's "both" '"'`, 'C:\\Program Files\\x.exe', '"', "'"],
  ]) {
    expect(wordsOf(commandLine(words))).toEqual(words)
  }
})
