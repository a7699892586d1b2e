import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Nothing can be written below the folder any more, by no user; gives what ends that.
 * @throws Error where this user may not mount
 */
export async function makeReadOnly(folder: string): Promise<() => Promise<void>> {
  await asRoot('mount', '--bind', folder, folder)
  const end = () => asRoot('umount', '-l', folder)
  try {
    await asRoot('mount', '-o', 'remount,ro,bind', folder)
  } catch (error) {
    await end()
    throw error
  }
  return end
}

/**
 * Runs a program as root.
 * @throws Error where this user may not
 */
export async function asRoot(program: string, ...args: string[]): Promise<void> {
  if (process.getuid?.() === 0) await run(program, args)
  else await run('sudo', ['-n', program, ...args])
}
