import { tmpdir } from 'node:os'
import type { RuntimeReport } from '../../src-shared/agent-wire.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { RuntimeName, RuntimeVersions } from '../../src-shared/runtimes.ts'
import { runBriefly } from './run-briefly.ts'
import { isOlder, newerNotice } from './versions.ts'

type Env = Readonly<Record<string, string>>

/** A runtime's program, as it is looked for. */
export type Program = {
  runtime: RuntimeName
  /** What people call it. */
  title: string
  /** Its file's name, without an ending. */
  name: string
  versions: RuntimeVersions
  versionLimitMs: number
  installHint: string
  upgradeHint: string
}

/** The first candidate that works and is new enough; else what is wrong with the first. Never rejects. */
export async function findWorking(
  program: Program,
  candidates: readonly string[],
  env: Env,
): Promise<RuntimeReport> {
  let best: RuntimeReport | null = null
  for (const path of candidates) {
    const report = await examineProgram(program, path, env)
    if (report.problem === null) return report
    best ??= report
  }
  const { title, name, installHint } = program
  return (
    best ??
    reportOf(program, null, null, {
      code: 'runtime.not-found',
      message: `${title} was not found: there is no \`${name}\` on PATH or in the usual places.`,
      hint: installHint,
    })
  )
}

/** Whether the program at this path runs, and is new enough. Its login is not looked at. */
export async function examineProgram(
  program: Program,
  path: string,
  env: Env,
): Promise<RuntimeReport> {
  const { title, versions, versionLimitMs, installHint, upgradeHint } = program
  let run: Awaited<ReturnType<typeof runBriefly>>
  try {
    run = await runBriefly(path, ['--version'], { cwd: tmpdir(), env, limitMs: versionLimitMs })
  } catch (error) {
    return reportOf(program, path, null, cannotRun(program, path, error))
  }
  const version = /\d+\.\d+\.\d+/.exec(run.stdout)?.[0] ?? null
  if (version === null) {
    const why = run.timedOut
      ? `does not answer to --version within ${versionLimitMs / 1_000} s`
      : `says no version (exit code ${run.exitCode ?? 'none'}): ${(run.stderr || run.stdout).trim().slice(0, 300)}`
    return reportOf(program, path, null, {
      code: 'runtime.not-working',
      message: `${title} at ${path} ${why}`,
      hint: `Run \`${path} --version\` in a terminal to see why. ${installHint}`,
    })
  }
  const { minimum } = versions
  if (minimum !== null && isOlder(version, minimum)) {
    return reportOf(program, path, version, {
      code: 'runtime.too-old',
      message: `${title} at ${path} is ${version}; Ballet needs ${minimum} or newer.`,
      hint: upgradeHint,
    })
  }
  return reportOf(program, path, version, null)
}

function reportOf(
  { runtime, title, versions }: Program,
  path: string | null,
  version: string | null,
  problem: Refusal | null,
): RuntimeReport {
  const notice = newerNotice(title, version, versions)
  return { runtime, path, version, loggedIn: null, login: null, versions, problem, notice }
}

function cannotRun({ title, installHint }: Program, path: string, error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') {
    return {
      code: 'runtime.not-found',
      message: `There is no ${title} at ${path}.`,
      hint: installHint,
    }
  }
  return {
    code: 'runtime.not-working',
    message: `${title} at ${path} cannot be started: ${error instanceof Error ? error.message : String(error)}`,
    hint: `Run \`${path} --version\` in a terminal to see why. ${installHint}`,
  }
}
