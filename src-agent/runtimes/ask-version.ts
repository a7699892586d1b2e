import { realpath, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { type BriefRun, runBriefly } from './run-briefly.ts'

type Env = Readonly<Record<string, string>>

export type VersionQuestion = {
  env: Env
  limitMs: number
  /** What the same file said before in this process is good enough. */
  remembers: boolean
}

/** By program and PATH, which decides what a script among them runs. */
const running = new Map<string, Promise<BriefRun>>()
const told = new Map<string, { file: string; run: BriefRun }>()

/**
 * What a program prints for `--version`. Who asks the same program meanwhile gets the same answer: a start takes a
 * second of the processor. Rejects with the system's error when it cannot be started.
 */
export async function askVersion(path: string, question: VersionQuestion): Promise<BriefRun> {
  const { env, limitMs, remembers } = question
  const key = [path, env.PATH ?? env.Path ?? ''].join('\0')
  const file = await identityOf(path)
  const known = told.get(key)
  if (remembers && known !== undefined && known.file === file) return known.run
  // Who has more time does not share the limit of who has less.
  const asked = [key, file, remembers].join('\0')
  const before = running.get(asked)
  if (before !== undefined) return before
  const run = runBriefly(path, ['--version'], { cwd: tmpdir(), env, limitMs })
  running.set(asked, run)
  try {
    const answer = await run
    if (answer.exitCode === 0) told.set(key, { file, run: answer })
    return answer
  } finally {
    running.delete(asked)
  }
}

/** Changes when the program is replaced. */
async function identityOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeMs } = await stat(await realpath(path))
  return [dev, ino, size, mtimeMs].join(':')
}
