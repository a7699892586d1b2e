export const isMac = typeof navigator !== 'undefined' && /Mac/.test(navigator.platform)

const glyphs: Record<string, string> = isMac
  ? { Mod: '⌘', Shift: '⇧', Alt: '⌥', Enter: '↵', Escape: 'esc' }
  : { Mod: 'Ctrl', Shift: 'Shift', Alt: 'Alt', Enter: '↵', Escape: 'Esc' }

/** `Mod+Shift+Enter` as it is written on this system. */
export function keyText(keys: string): string {
  return keys
    .split('+')
    .map((key) => glyphs[key] ?? key)
    .join(isMac ? '' : '+')
}

/** Shows the key that does what stands beside it. */
export function Key({ keys }: { keys: string }) {
  return <kbd className="key">{keyText(keys)}</kbd>
}

/** Whether Ctrl (⌘ on a Mac) is held and nothing else decides. */
export const isMod = (event: { metaKey: boolean; ctrlKey: boolean }) =>
  isMac ? event.metaKey : event.ctrlKey
