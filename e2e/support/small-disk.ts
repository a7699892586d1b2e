import { appendFile, mkdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { asRoot } from './read-only-folder.ts'

/** A folder on a disk of its own. */
export type SmallDisk = {
  /** Takes all its free room. */
  fill(): Promise<void>
  /** Gives the room back. */
  free(): Promise<void>
  remove(): Promise<void>
}

/**
 * Mounts a small disk in memory on the folder, which is made.
 * @throws Error where this user may not mount
 */
export async function mountSmallDisk(folder: string, megabytes: number): Promise<SmallDisk> {
  await mkdir(folder, { recursive: true })
  await asRoot('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'tmpfs', folder)
  const filler = join(folder, 'filler')
  return {
    fill: async () => {
      const block = Buffer.alloc(4096)
      for (;;) {
        const { bavail, bsize } = await statfs(folder)
        if (bavail * bsize < block.length) return
        const piece = Buffer.alloc(Math.min(bavail * bsize, 4 * 1024 * 1024))
        // What others write meanwhile makes a whole piece too large; smaller ones end it.
        await appendFile(filler, piece).catch(() =>
          appendFile(filler, block).catch(() => undefined),
        )
      }
    },
    free: () => rm(filler, { force: true }),
    remove: () => asRoot('umount', '-l', folder),
  }
}
