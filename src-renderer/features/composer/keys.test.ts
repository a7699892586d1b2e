import { describe, expect, it } from 'vitest'
import { composerAct } from './keys.ts'

const press = (key: string, more: Partial<Parameters<typeof composerAct>[0]> = {}) =>
  composerAct({
    key,
    shiftKey: false,
    altKey: false,
    ctrlKey: false,
    metaKey: false,
    isComposing: false,
    ...more,
  })

describe('keys of the message box', () => {
  it('send, break the line, interrupt', () => {
    expect(press('Enter')).toBe('send')
    expect(press('Enter', { shiftKey: true })).toBeNull()
    expect(press('Enter', { ctrlKey: true })).toBe('send')
    expect(press('Enter', { metaKey: true, shiftKey: true })).toBe('interrupt-and-send')
    expect(press('Escape')).toBe('interrupt')
  })

  it('steer, and go to what is queued', () => {
    expect(press('Enter', { altKey: true })).toBe('steer')
    expect(press('ArrowUp')).toBe('queue')
  })

  it('leave an input method alone', () => {
    expect(press('Enter', { isComposing: true })).toBeNull()
    expect(press('Escape', { isComposing: true })).toBeNull()
  })

  it('leave every other key to the box', () => {
    expect(press('a')).toBeNull()
    expect(press('Enter', { altKey: true, shiftKey: true })).toBeNull()
    expect(press('ArrowUp', { shiftKey: true })).toBeNull()
    expect(press('Escape', { shiftKey: true })).toBeNull()
  })
})
