import { describe, expect, it } from 'vitest'
import { plainOutput, showControls } from './controls.ts'

describe('hidden characters', () => {
  it('are shown by their numbers', () => {
    expect(showControls('a\u202Eb\u2066c\u200Bd\u0007e\uFEFF')).toBe(
      'a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+0007⟩e⟨U+FEFF⟩',
    )
  })

  it('that writing needs are left alone', () => {
    const text = 'tab\tline\nשלום · 👩‍👩‍👧 · می‌خواهم'
    expect(showControls(text)).toBe(text)
    expect(showControls('a\r\nb')).toBe('a\nb')
  })
})

describe('output of a terminal', () => {
  it('loses its colours and titles', () => {
    expect(plainOutput('\u001b[1;32mok\u001b[0m \u001b]0;title\u0007done\u001b[2K')).toBe('ok done')
  })

  it('shows a line as its last carriage return left it', () => {
    expect(plainOutput('10 %\r50 %\r100 %\ndone\r\n')).toBe('100 %\ndone\n')
  })

  it('shows what else it does not know', () => {
    expect(plainOutput('a\u0000b')).toBe('a⟨U+0000⟩b')
  })
})
