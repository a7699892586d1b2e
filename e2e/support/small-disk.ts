import { execFile } from 'node:child_process'
import { appendFile, mkdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

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
  const mount = process.getuid?.() === 0 ? ['mount'] : ['sudo', '-n', 'mount']
  const [program = 'mount', ...first] = mount
  await run(program, [
    ...first,
    '-t',
    'tmpfs',
    '-o',
    `size=${megabytes}m,mode=0777`,
    'tmpfs',
    folder,
  ])
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
    remove: async () => {
      const [umount = 'umount', ...rest] =
        process.getuid?.() === 0 ? ['umount', '-l'] : ['sudo', '-n', 'umount', '-l']
      await run(umount, [...rest, folder])
    },
  }
}
