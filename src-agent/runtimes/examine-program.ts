import type { RuntimeReport } from '../../src-shared/agent-wire.ts'
import type { Refusal } from '../../src-shared/refusal.ts'
import type { RuntimeName, RuntimeVersions } from '../../src-shared/runtimes.ts'
import { askVersion } from './ask-version.ts'
import type { FindOptions } from './driver.ts'
import type { BriefRun } from './run-briefly.ts'
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
  installHint: string
  upgradeHint: string
}

/** How long a look at a runtime may take, its login included: somebody waits for the report. */
export const LOOK_LIMIT_MS = 15_000

/** A look at one runtime: every program that is started in it shares one limit. */
export type Look = {
  env: Env
  remembers: boolean
  limitMs: number
  /** In milliseconds; never below 1. */
  leftMs(): number
}

/** Begins a look with the environment in which the program is started. */
export function lookWith(
  env: Env,
  { limitMs = LOOK_LIMIT_MS, remembers = false }: Pick<FindOptions, 'limitMs' | 'remembers'> = {},
): Look {
  const until = performance.now() + limitMs
  return { env, remembers, limitMs, leftMs: () => Math.max(1, until - performance.now()) }
}

/** The first candidate that works and is new enough; else what is wrong with the first. Never rejects. */
export async function findWorking(
  program: Program,
  candidates: readonly string[],
  look: Look,
): Promise<RuntimeReport> {
  let best: RuntimeReport | null = null
  for (const path of candidates) {
    const report = await examineProgram(program, path, look)
    if (report.problem === null) return report
    best ??= report
    if (report.problem.code === NO_ANSWER) break
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
  look: Look,
): Promise<RuntimeReport> {
  const { title, versions, installHint, upgradeHint } = program
  let run: BriefRun
  try {
    run = await askVersion(path, { ...look, limitMs: look.leftMs() })
  } catch (error) {
    return reportOf(program, path, null, cannotRun(program, path, error))
  }
  if (run.timedOut) return reportOf(program, path, null, noAnswer(title, path, look))
  const version = /\d+\.\d+\.\d+/.exec(run.stdout)?.[0] ?? null
  if (version === null) {
    const why = `says no version (exit code ${run.exitCode ?? 'none'}): ${(run.stderr || run.stdout).trim().slice(0, 300)}`
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

const NO_ANSWER = 'runtime.no-answer'

/** It is there, and whether it works is not known. */
export function noAnswer(title: string, path: string, { limitMs }: Look): Refusal {
  return {
    code: NO_ANSWER,
    message: `${title} at ${path} did not answer within ${limitMs / 1_000} s.`,
    hint: `Look again: the machine may be busy. If it stays, run \`${path} --version\` in a terminal.`,
  }
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
