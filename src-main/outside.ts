import { shell } from 'electron'

const OPENABLE = new Set(['http:', 'https:', 'mailto:'])

/** Whether an address may be handed to the system's own programs. */
export function isOpenable(address: string): boolean {
  return URL.canParse(address) && OPENABLE.has(new URL(address).protocol)
}

/** Opens a web or mail address outside; false when it is none. */
export async function openOutside(address: string): Promise<boolean> {
  if (!isOpenable(address)) return false
  await shell.openExternal(new URL(address).href)
  return true
}
