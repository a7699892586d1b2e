import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CLAUDE_PROGRAM } from '../support/bare-claude.ts'
import { useRuntime, writeRuntime } from '../support/runtime-wrapper.ts'
import type { Workbench } from '../support/workbench.ts'

/**
 * The real Claude Code, but for the question whether it is logged in: it is answered as the real one answered it once,
 * so that a round, which begins a dozen runtimes, spends no start of one on each answer. After the disk of the data
 * folder is there, and before a host is.
 */
export async function useQuickRuntime({ folder, dataDir, env }: Workbench): Promise<void> {
  const { stdout } = await promisify(execFile)(CLAUDE_PROGRAM, ['auth', 'status'], { env })
  const answer = join(folder, 'login.json')
  await writeFile(answer, stdout)
  const asked = `if [ "$1 $2" = 'auth status' ]; then exec cat '${answer}'; fi`
  const real = 'exec "$claude" "$@"'
  await useRuntime(dataDir, await writeRuntime(folder, real, `${asked}\n${real}`))
}
