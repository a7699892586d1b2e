export type ComposerAct = 'send' | 'interrupt' | 'interrupt-and-send' | 'steer' | 'queue' | null

type KeyPress = {
  key: string
  shiftKey: boolean
  altKey: boolean
  ctrlKey: boolean
  metaKey: boolean
  /** A candidate of an input method is being chosen: its Enter is not ours. */
  isComposing: boolean
}

/** What a key press in the message box does; null leaves it to the box. `queue`, in an empty box: to what is queued. */
export function composerAct(press: KeyPress): ComposerAct {
  if (press.isComposing) return null
  const mod = press.ctrlKey || press.metaKey
  if (press.key === 'Escape') return press.shiftKey || mod || press.altKey ? null : 'interrupt'
  if (press.key === 'ArrowUp' && !press.altKey && !mod && !press.shiftKey) return 'queue'
  if (press.key !== 'Enter') return null
  if (press.altKey) return mod || press.shiftKey ? null : 'steer'
  if (mod) return press.shiftKey ? 'interrupt-and-send' : 'send'
  return press.shiftKey ? null : 'send'
}
