import { join } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { assertNever, BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { Environment } from '../git/environment.ts'
import { createGit } from '../git/run.ts'
import { findThings, housekeepingMarker } from '../housekeeping/find-things.ts'
import { removeBranch } from '../housekeeping/remove-branch.ts'
import { removeThings } from '../housekeeping/remove-things.ts'
import { packSession } from '../moving/pack-session.ts'
import { unpackSession } from '../moving/unpack-session.ts'
import { runPlanner } from '../planner/run-planner.ts'
import type { Clock } from '../port/clock.ts'
import { endGit, endTree, type Marker } from '../process-tree/index.ts'
import type { Drivers } from '../runtimes/registry.ts'
import { type Log, scratchDirOf, sessionEnvironment } from '../session-loop/context.ts'
import { refusalOf } from '../workspace/failure.ts'
import { removeTree, WORKSPACES_FOLDER } from '../workspace/folders.ts'
import { removeIfPushed } from '../workspace/removal.ts'
import { finishKeptWork, keepReplaced } from './kept-finish.ts'
import { pushKeptWork } from './kept-push.ts'
import { probeRemote } from './remote.ts'
import { probeRuntimes } from './runtimes.ts'
import { pushWorkspace } from './workspace-push.ts'

/** How long git may take to end whose agent is gone. */
const END_GIT_MS = 10_000
/** The same for a runtime that was started to look after what it keeps. */
const END_STATE_MS = 10_000

export type ProbeOptions = {
  dataDir: string
  env: Readonly<Record<string, string>>
  drivers: Drivers
  clock: Clock
  /** Ends what is under way. */
  signal: AbortSignal
  /** Where nobody reads it, what a removal leaves is told to nobody. */
  log?: Log
  /** What is under way, also when its answer was given up. */
  running: Set<Promise<unknown>>
}

/** What was found, or why not; never later than the limit. */
export async function runProbe(
  probe: Probe,
  limitMs: number,
  options: ProbeOptions,
): Promise<{ finding: ProbeFinding | null; refusal: Refusal | null }> {
  const aborter = new AbortController()
  const signal = AbortSignal.any([aborter.signal, options.signal])
  let cancel = () => {}
  const limit = new Promise<never>((_, reject) => {
    cancel = options.clock.after(limitMs, () => {
      aborter.abort()
      reject(tooLong(probe, limitMs))
    })
  })
  try {
    const found = find(probe, limitMs, options, signal)
    remember(found, options.running)
    return { finding: await Promise.race([found, limit]), refusal: null }
  } catch (error) {
    return { finding: null, refusal: refusalOf(error, `looking at ${subjectOf(probe)}`) }
  } finally {
    cancel()
  }
}

async function removeStates(
  { dataDir, env, drivers, log }: ProbeOptions,
  probe: Extract<Probe, { kind: 'state.remove' }>,
): Promise<number> {
  const { marker } = probe
  await endTree([marker], { limitMs: END_STATE_MS })
  const place = {
    marker,
    cwd: join(dataDir, WORKSPACES_FOLDER),
    env: sessionEnvironment(env, probe.env),
    executable: probe.runtimePath,
    scratchDir: join(dataDir, 'scratch'),
    onLeft: (what: string) => log?.('warn', what),
  }
  let files = 0
  for (const conversation of probe.conversations) {
    files += (await drivers[probe.runtime]?.state?.remove(conversation, place)) ?? 0
  }
  return files
}

/** Core asks for one at a time. */
async function endLastHousekeeping(dataDir: string): Promise<void> {
  await endTree([housekeepingMarker(dataDir)], { limitMs: END_STATE_MS })
}

function remember(work: Promise<unknown>, running: Set<Promise<unknown>>): void {
  const settled = work
    .catch(() => undefined)
    .finally(() => {
      running.delete(settled)
    })
  running.add(settled)
}

async function find(
  probe: Probe,
  limitMs: number,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<ProbeFinding> {
  const { dataDir, env, drivers, clock, log } = options
  const git = createGit({ env })
  /** What the project adds to its environment reaches the git of its work. An earlier try of it is over then. */
  const gitOf = async ({ env: own, marker }: { env: Environment; marker: Marker }) => {
    await endGit([marker], END_GIT_MS)
    return createGit({ env: sessionEnvironment(env, own), marker })
  }
  const envsOf = ({ envs }: { envs: readonly Environment[] }) => [
    env,
    ...envs.map((own) => sessionEnvironment(env, own)),
  ]
  switch (probe.kind) {
    case 'remote':
      return probeRemote(git, dataDir, probe, { limitMs, signal })
    case 'runtimes':
      return probeRuntimes(
        createGit({ env: sessionEnvironment(env, probe.of?.env ?? {}) }),
        drivers,
        {
          paths: probe.paths,
          acpAgents: probe.acpAgents,
          cwd: dataDir,
          ...(probe.of?.runtime === undefined ? {} : { only: probe.of.runtime }),
          ...(probe.projects === undefined ? {} : { projects: probe.projects }),
        },
      )
    case 'reap': {
      const ended = await Promise.all([
        endTree(probe.markers, { limitMs, freezesOldest: true }),
        endGit(probe.markers, limitMs),
      ])
      // Left by agents that were killed; a folder that stays harms nobody.
      for (const { nonce } of probe.markers) {
        await removeTree(scratchDirOf(dataDir, nonce)).catch(() => undefined)
      }
      return { kind: 'reap', ended: ended.flat() }
    }
    case 'workspace.remove': {
      const plan = { ...probe, dataDir }
      const removed = await removeIfPushed(await gitOf(probe), plan, probe.force, signal)
      return { kind: 'workspace.remove', removed }
    }
    case 'park.keep':
      return keepReplaced(await gitOf(probe), dataDir, probe, signal)
    case 'park.finish':
      return finishKeptWork(await gitOf(probe), dataDir, probe, signal)
    case 'workspace.push':
      return pushWorkspace(await gitOf(probe), dataDir, probe, signal)
    case 'park.push':
      return pushKeptWork(await gitOf(probe), dataDir, probe, signal)
    case 'session.pack':
      return packSession(await gitOf(probe), probe, signal)
    case 'session.unpack':
      return unpackSession(probe, signal)
    case 'branch.remove':
      return removeBranch(await gitOf(probe), probe, signal)
    case 'state.remove':
      return { kind: 'state.remove', files: await removeStates(options, probe) }
    case 'things.find':
      await endLastHousekeeping(dataDir)
      return {
        kind: 'things.find',
        things: await findThings(dataDir, {
          ...{ drivers, envs: envsOf(probe), signal },
          ...(log === undefined ? {} : { log }),
        }),
      }
    case 'things.remove': {
      await endLastHousekeeping(dataDir)
      const refusals = await removeThings(probe.things, {
        ...{ dataDir, git, drivers, signal, ...(log === undefined ? {} : { log }) },
        envs: envsOf(probe),
      })
      return { kind: 'things.remove', refusals }
    }
    case 'planner':
      return runPlanner(probe, {
        ...{ dataDir, env, drivers, clock, signal },
        git: createGit({ env, marker: probe.marker }),
      })
    default:
      return assertNever(probe)
  }
}

function subjectOf(probe: Probe): string {
  switch (probe.kind) {
    case 'remote':
      return probe.repo
    case 'runtimes':
      return 'the runtimes of this machine'
    case 'reap':
      return 'the processes of ended sessions'
    case 'workspace.remove':
    case 'workspace.push':
      return probe.workspaceDir
    case 'park.push':
    case 'park.keep':
    case 'park.finish':
    case 'branch.remove':
      return probe.branch
    case 'session.pack':
    case 'session.unpack':
      return probe.file
    case 'state.remove':
      return 'what a runtime keeps of conversations'
    case 'things.find':
    case 'things.remove':
      return 'the data folder'
    case 'planner':
      return 'the sources of a question'
    default:
      return assertNever(probe)
  }
}

function tooLong(probe: Probe, limitMs: number): BalletError {
  if (probe.kind === 'planner') {
    return new BalletError({
      code: 'planner.time-limit',
      message: `The planner had no answer within ${Math.ceil(limitMs / 1_000)} s.`,
      hint: 'Its time limit stands in the settings.',
    })
  }
  const isRemote = probe.kind === 'remote'
  return new BalletError({
    code: isRemote ? 'remote.unreachable' : 'probe.time-limit',
    message: `Looking at ${subjectOf(probe)} took longer than ${Math.ceil(limitMs / 1_000)} s.`,
    hint: isRemote
      ? 'Check the network and the address, then try again.'
      : 'The machine may be busy. Try again.',
  })
}
