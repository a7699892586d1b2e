/** What the window keeps for itself between its starts. Nothing of it is needed: without it defaults hold. */
const PREFIX = 'ballet.'

export function recall(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name)
    return text === null ? undefined : JSON.parse(text)
  } catch {
    // Storage that is switched off or damaged counts as empty.
    return undefined
  }
}

/** False when it could not be kept, such as when the storage is full. */
export function remember(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name)
    else localStorage.setItem(PREFIX + name, JSON.stringify(value))
    return true
  } catch {
    return false
  }
}
