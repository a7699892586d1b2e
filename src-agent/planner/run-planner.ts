import { mkdir, realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Probe, ProbeFinding, RuntimeReport } from '../../src-shared/agent-wire.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'
import type { Clock } from '../port/clock.ts'
import { endTree } from '../process-tree/index.ts'
import type { Driver } from '../runtimes/driver.ts'
import type { Drivers } from '../runtimes/registry.ts'
import { sessionEnvironment } from '../session-loop/context.ts'
import { kindOf, removeTree } from '../workspace/folders.ts'
import { CitedSources } from './cited-sources.ts'
import { type Gathered, gatherSources } from './gather-sources.ts'
import { type PlannerAnswer, readAnswer } from './read-answer.ts'
import type { Repository } from './source-files.ts'

type PlannerProbe = Extract<Probe, { kind: 'planner' }>
type Finding = Extract<ProbeFinding, { kind: 'planner' }>

export type PlannerOptions = {
  dataDir: string
  /** The environment that the host gave, before the project's own. */
  env: Readonly<Record<string, string>>
  git: Git
  drivers: Drivers
  clock: Clock
  signal: AbortSignal
}

const SOURCES_FOLDER = 'sources'
const SETTINGS_FILE = 'settings.json'
const END_TREE = { graceMs: 0, limitMs: 10_000 }

/**
 * Lets a runtime look for the answer in the sources. Rejects with `BalletError`, also when it is aborted; whatever
 * comes of it, nothing runs any more then and its folder is gone.
 */
export async function runPlanner(probe: PlannerProbe, options: PlannerOptions): Promise<Finding> {
  const begin = options.clock.monotonic()
  await makeFolder(probe.folder, options.dataDir)
  try {
    const found = await plan(probe, options)
    return { ...found, durationMs: options.clock.monotonic() - begin }
  } finally {
    await endTree([probe.marker], END_TREE).finally(() => removeTree(probe.folder))
  }
}

/** A new folder under the data folder, so that only what this run made is removed after it. */
async function makeFolder(folder: string, dataDir: string): Promise<void> {
  const below = relative(dataDir, folder)
  if (below === '' || below.startsWith('..') || !below.includes(sep)) {
    throw new BalletError({
      code: 'planner.folder',
      message: `${folder} is no place for a planner: it works below ${dataDir}.`,
    })
  }
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  await mkdir(folder, { mode: 0o700 })
}

async function plan(
  probe: PlannerProbe,
  options: PlannerOptions,
): Promise<Omit<Finding, 'durationMs'>> {
  const driver = driverOf(probe, options.drivers)
  const env = sessionEnvironment(options.env, probe.env)
  await mkdir(join(probe.folder, SOURCES_FOLDER), { mode: 0o700 })
  // As the runtime sees it, and cites it.
  const root = await realpath(join(probe.folder, SOURCES_FOLDER))
  const [found, sources] = await Promise.allSettled([
    driver.find({ path: probe.runtimePath, env, remembers: true }).then(executableOf),
    gather(probe, root, options),
  ])
  if (found.status === 'rejected') throw found.reason
  if (sources.status === 'rejected') throw sources.reason
  const gathered = sources.value
  if (gathered.files === 0) return undecided(nothingToRead(gathered))
  const { text, costUsd } = await readOnlyRunOf(driver)({
    cwd: root,
    settingsFile: join(probe.folder, SETTINGS_FILE),
    executable: found.value,
    model: probe.model,
    env,
    marker: probe.marker,
    instructions: instructionsFor(gathered),
    prompt: probe.prompt,
    costLimitUsd: probe.costLimitUsd,
    signal: options.signal,
  })
  return { ...(await withTexts(readAnswer(text), root, gathered)), costUsd }
}

function readOnlyRunOf(driver: Driver): NonNullable<Driver['readOnlyRun']> {
  if (driver.readOnlyRun !== undefined) return driver.readOnlyRun.bind(driver)
  throw new BalletError({
    code: 'planner.unsupported',
    message: `${driver.runtime} cannot run as the planner: it has no run that only reads.`,
    hint: 'Choose another runtime for the planner in the settings.',
  })
}

function driverOf({ runtime, costLimitUsd }: PlannerProbe, drivers: Drivers): Driver {
  const driver = drivers[runtime]
  if (driver === undefined) {
    throw new BalletError({
      code: 'runtime.no-driver',
      message: `This build of Ballet cannot drive ${runtime}.`,
      hint: 'Update Ballet, or choose another runtime.',
    })
  }
  if (costLimitUsd > 0) return driver
  throw new BalletError({
    code: 'planner.cost-limit',
    message: 'The planner may cost nothing, so it did not run.',
    hint: 'Raise its cost limit in the settings, or switch the planner off.',
  })
}

async function gather(
  probe: PlannerProbe,
  into: string,
  { git, signal }: PlannerOptions,
): Promise<Gathered> {
  const repository = await repositoryOf(probe, git, signal)
  return gatherSources({ sources: probe.sources, repository, into, signal })
}

/** The workspace at what is committed there, else the mirror at the session's commit. */
async function repositoryOf(
  { workspaceDir, mirrorDir, commit }: PlannerProbe,
  git: Git,
  signal: AbortSignal,
): Promise<Repository | null> {
  const places = [
    ...(workspaceDir === null ? [] : [{ cwd: workspaceDir, name: 'HEAD' }]),
    ...(commit === null ? [] : [{ cwd: mirrorDir, name: commit }]),
  ]
  for (const { cwd, name } of places) {
    if ((await kindOf(cwd)) !== 'folder') continue
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    // The folder itself, and no repository above it.
    const env = { GIT_CEILING_DIRECTORIES: dirname(cwd) }
    const { exitCode, stdout } = await git.run(args, { cwd, env, signal })
    if (exitCode === 0) return { git, cwd, commit: stdout.toString('utf8').trim(), signal }
  }
  return null
}

function executableOf({ runtime, path, problem }: RuntimeReport): string {
  if (problem !== null) throw new BalletError(problem)
  if (path !== null) return path
  throw new BalletError({
    code: 'runtime.not-found',
    message: `${runtime} was not found on this machine.`,
    hint: 'Install it, or set its path in the settings.',
  })
}

function instructionsFor({ outside, notes }: Gathered): string {
  return [
    "This is a read-only run of Ballet's planner. The sources are the files of your working folder; you can read nothing else.",
    ...outside.map(({ at, path }) => `What stands in ${at}/ was copied from ${path}.`),
    ...notes,
  ].join('\n')
}

function nothingToRead({ notes }: Gathered): string {
  return ['None of the sources that the project names holds a text.', ...notes].join(' ')
}

function undecided(reason: string): Omit<Finding, 'durationMs'> {
  return { kind: 'planner', result: { undecided: reason }, texts: {}, costUsd: 0 }
}

async function withTexts(
  answer: PlannerAnswer,
  root: string,
  { outside, notes }: Gathered,
): Promise<Omit<Finding, 'durationMs' | 'costUsd'>> {
  if ('undecided' in answer) {
    // What was left out may be why.
    const reason = [answer.undecided, ...notes].join(' ')
    return { kind: 'planner', result: { undecided: reason }, texts: {} }
  }
  const sources = new CitedSources(root, outside)
  const texts: Record<string, string | null> = {}
  const citations: typeof answer.citations = []
  for (const citation of answer.citations) {
    const { source, text } = await sources.read(citation.source)
    texts[source] = text
    citations.push({ ...citation, source })
  }
  return { kind: 'planner', result: { answer: answer.answer, citations }, texts }
}
