import { describe, expect, it } from 'vitest'
import { matches } from './shortcuts.ts'

const press = (key: string, held: string[] = []) => ({
  key,
  shiftKey: held.includes('Shift'),
  altKey: held.includes('Alt'),
  ctrlKey: held.includes('Ctrl'),
  metaKey: held.includes('Meta'),
  isComposing: false,
})

describe('shortcuts', () => {
  it('are the control key, or the command key on a Mac', () => {
    expect(matches(press('k', ['Ctrl']), 'Mod+K', false)).toBe(true)
    expect(matches(press('k', ['Meta']), 'Mod+K', true)).toBe(true)
    expect(matches(press('k', ['Ctrl']), 'Mod+K', true)).toBe(false)
    expect(matches(press('k'), 'Mod+K', false)).toBe(false)
  })

  it('need exactly the modifiers that they name', () => {
    expect(matches(press('N', ['Ctrl', 'Shift']), 'Mod+Shift+N', false)).toBe(true)
    expect(matches(press('N', ['Ctrl', 'Shift']), 'Mod+N', false)).toBe(false)
    expect(matches(press('n', ['Ctrl', 'Alt']), 'Mod+N', false)).toBe(false)
  })

  it('find signs on layouts that need Shift for them', () => {
    expect(matches(press('?', ['Shift']), '?', false)).toBe(true)
    expect(matches(press('|', ['Ctrl', 'Shift']), 'Mod+Shift+\\', false)).toBe(true)
  })

  it('do not take a key of an input method', () => {
    expect(matches({ ...press('k', ['Ctrl']), isComposing: true }, 'Mod+K', false)).toBe(false)
  })
})
