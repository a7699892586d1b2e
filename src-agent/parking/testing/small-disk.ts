import { execFile } from 'node:child_process'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Mounting needs the rights of the system's owner. */
export const CAN_MOUNT = process.platform === 'linux' && process.getuid?.() === 0

/** Mounts a disk in memory on a folder, which is made. */
export async function mountDisk(folder: string, megabytes: number) {
  await mkdir(folder, { recursive: true })
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
  const filler = join(folder, 'filler')
  return {
    /** Leaves so many bytes free. */
    fill: async (free: number) => {
      await rm(filler, { force: true })
      const { bavail, bsize } = await statfs(folder)
      await writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - free)))
    },
    free: () => rm(filler, { force: true }),
    remove: () => run('umount', ['-l', folder]),
  }
}
