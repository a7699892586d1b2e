import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { MARK_VARIABLE, type Marker, markOf } from './marker.ts'
import { rememberRoot } from './roots.ts'

export type SpawnOptions = {
  cwd: string
  /** The whole environment; the marker is added. */
  env: Readonly<Record<string, string>>
  marker: Marker
}

/**
 * Starts a program in a process group of its own, with the session's marker in its environment.
 * Resolves when it runs; rejects with the system's error (`ENOENT`, `EACCES`, …) when it cannot be started.
 */
export async function spawnMarked(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(command, [...args], {
    cwd: options.cwd,
    env: { ...options.env, [MARK_VARIABLE]: markOf(options.marker) },
    stdio: 'pipe',
    detached: process.platform !== 'win32',
    windowsHide: true,
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  if (child.pid !== undefined) await rememberRoot(options.marker, child.pid)
  return child
}
