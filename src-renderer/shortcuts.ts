import { commands } from './commands.ts'

type KeyPress = {
  key: string
  shiftKey: boolean
  altKey: boolean
  ctrlKey: boolean
  metaKey: boolean
  isComposing: boolean
}

/** Whether a press is `Mod+Shift+N` or the like. A single letter or sign is one without any modifier but Shift. */
export function matches(press: KeyPress, keys: string, isMac: boolean): boolean {
  if (press.isComposing) return false
  const parts = keys.split('+')
  const key = parts.at(-1) ?? ''
  const mod = isMac ? press.metaKey : press.ctrlKey
  const other = isMac ? press.ctrlKey : press.metaKey
  if (other || press.altKey !== parts.includes('Alt') || mod !== parts.includes('Mod')) return false
  const sign = key.length === 1 && !/[a-z0-9]/i.test(key) && parts.length === 1
  if (!sign && press.shiftKey !== parts.includes('Shift')) return false
  // With Shift held a backslash arrives as `|` on many layouts.
  const pressed = press.key === '|' && key === '\\' ? '\\' : press.key
  return pressed.toLowerCase() === key.toLowerCase()
}

/** The command of a key press; a key without modifiers is none while text is being written. */
export function commandOf(press: KeyPress, isWriting: boolean, isMac: boolean): string | undefined {
  return commands.find(
    ({ keys }) =>
      keys !== undefined && !(isWriting && !keys.includes('+')) && matches(press, keys, isMac),
  )?.id
}

export function isWritten(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select'))
  )
}
