import { shell } from 'electron'
import { isOpenable } from './addresses.ts'

/** Opens a web or mail address outside; false when it is none. */
export async function openOutside(address: string): Promise<boolean> {
  if (!isOpenable(address)) return false
  await shell.openExternal(new URL(address).href)
  return true
}
