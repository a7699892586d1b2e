import { join } from 'node:path'
import { ROOT } from '../electron-runtime.ts'
import { jsonLines, startProgram } from './program.ts'

export const BALLET_PROGRAM = join(ROOT, 'bin', 'ballet.mjs')

export type CommandResult = {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The objects that it printed, with `--json`. */
  readonly rows: readonly Record<string, unknown>[]
  /** What it said on standard error in `--json`: the refusal. */
  readonly error:
    | { readonly code: string; readonly message: string; readonly hint?: string }
    | undefined
}

export type CommandOptions = {
  readonly env: Readonly<Record<string, string>>
  readonly input?: string
  readonly cwd?: string
}

/** Runs `ballet` with these arguments until it ends (limit 60 s). */
export async function runBallet(
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const program = startProgram(process.execPath, [BALLET_PROGRAM, ...args], {
    ...options,
    limitMs: 60_000,
  })
  const { code, stdout, stderr } = await program.ended
  return { code, stdout, stderr, rows: jsonLines(stdout), error: errorIn(stderr) }
}

function errorIn(stderr: string): CommandResult['error'] {
  for (const { error } of jsonLines(stderr)) {
    if (typeof error !== 'object' || error === null) continue
    if ('code' in error && 'message' in error) return error as NonNullable<CommandResult['error']>
  }
  return undefined
}
