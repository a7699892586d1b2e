import type { WindowBridge } from '../../src-shared/window-bridge.ts'

declare global {
  interface Window {
    /** What the preload gives; absent where the window runs without the application. */
    readonly ballet?: WindowBridge
  }
}

/** Undefined in a browser, and in tests, which have no window. */
export const bridge = (): WindowBridge | undefined =>
  typeof window === 'undefined' ? undefined : window.ballet

/** Opens a link outside the window; the host checks the scheme again. */
export function openOutside(url: string): void {
  if (!/^(?:https?:\/\/|mailto:)/i.test(url)) return
  const given = bridge()
  if (given === undefined) window.open(url, '_blank', 'noopener,noreferrer')
  else void given.openExternal(url)
}

/** False when the system's clipboard could not be written. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
