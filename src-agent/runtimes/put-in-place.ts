import { constants } from 'node:fs'
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Copies a file to where a runtime looks for it: whole or not at all, and on the disk. */
export async function putInPlace(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  const part = `${to}.ballet-part`
  try {
    await copyFile(from, part, constants.COPYFILE_FICLONE)
    const handle = await open(part, 'r+')
    try {
      await handle.chmod(0o600)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, to)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
