import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionId } from '../../src-shared/ids.ts'
import type { Session } from '../../src-shared/records.ts'
import type { BalletClient } from '../support/ballet-client.ts'
import type { GitRemote } from '../support/git-remote.ts'
import { showEvents, timelineOf } from '../support/watch.ts'
import type { Workbench } from '../support/workbench.ts'
import { type Held, requestsIn, sessionFaults } from './checks.ts'
import { begin, type Scene } from './deeds.ts'
import { HostUnderBlows } from './host-under-blows.ts'
import { Ledger } from './ledger.ts'
import { type BlowLog, openLog } from './log.ts'
import { databaseFaults, machineFaults, workFaults } from './machine.ts'
import { type Random, randomFrom } from './random.ts'
import { type AtRest, comeToRest } from './rest.ts'
import type { Rules } from './rules.ts'
import { windowFaults } from './window.ts'

export type RoundsOptions = {
  readonly rounds: number
  readonly seed: string
  readonly rules: Rules
  /** The remote of all projects. */
  readonly remote: GitRemote
  /** Where every blow and deed is written, line by line. */
  readonly logFile: string
  readonly onRound?: (line: string) => void
}

/**
 * Runs sessions on one host and data folder, hits what runs them at random moments, and looks after each round whether
 * everything was kept.
 * @throws Error with the seed, the round, what is wrong, the log and the timelines, at the first round that is not
 */
export async function runRounds(bench: Workbench, options: RoundsOptions): Promise<void> {
  const { rules, remote } = options
  const log = openLog(options.logFile)
  const host = new HostUnderBlows(bench, log, rules)
  const ledger = new Ledger()
  const { client } = await host.up()
  for (const project of rules.projects) await client.projects.add({ ...project, repo: remote.path })
  // An orderly end waits so long for a turn, also for one whose request nobody can answer meanwhile.
  await client.settings.edit({ drainGraceSeconds: DRAIN_GRACE_S })
  const random = randomFrom(options.seed)
  try {
    for (let round = 1; round <= options.rounds; round += 1) {
      log.round(round)
      const begun = performance.now()
      const own = random.fork(`round ${round}`)
      const sessions = await host.ask('sessions.list', (each) => each.sessions.list())
      const live = sessions.filter(({ state }) => isLive(rules, state))
      const quiet = rules.besides?.before(live, own.fork('quiet')) ?? new Set()
      const { script, begun: projects } = rules
      const scene: Scene = { round, host, ledger, log, projects, script, quiet }
      const world = { rules, bench, remote, scene, random: own }
      const blows = await playRound(world, live).catch((error: unknown) => {
        throw failure(options, log, [error instanceof Error ? error.message : String(error)], '')
      })
      const { faults, timelines } = await look(world, round === options.rounds)
      if (faults.length > 0) throw failure(options, log, faults, timelines)
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
      options.onRound?.(`round ${round}: ${blows} blows, ${seconds} s`)
    }
  } finally {
    ledger.stop()
  }
}

type World = {
  readonly rules: Rules
  readonly bench: Workbench
  readonly remote: GitRemote
  readonly scene: Scene
  readonly random: Random
}

/** Well within the time that a host may be away. */
const DRAIN_GRACE_S = 3

/** What takes a person's word, or would once it is brought back. */
function isLive({ finishesParked }: Rules, state: Session['state']): boolean {
  return !OVER.has(state) && (finishesParked || state !== 'parked')
}

const OVER: ReadonlySet<Session['state']> = new Set(['finished', 'cancelled'])

/** Deeds and blows, each at its moment, until all are done; gives how many blows there were. */
async function playRound(world: World, live: readonly Session[]): Promise<number> {
  const { scene, random, rules } = world
  const windowMs = random.between(1_000, 2_200)
  // Some are over, so that others have room.
  const over = live
    .filter(({ id, state }) => isFinishable(rules, state) && !scene.quiet.has(id))
    .slice(0, random.whole(0, 2))
  const work: Promise<void>[] = [finish(world, over)]
  for (let missing = live.length - over.length; missing < rules.live; missing += 1) {
    work.push(begin(scene, random.fork(`begin ${missing}`)))
  }
  work.push(...(rules.besides?.during(scene, random.fork('besides')) ?? []))
  const deeds = random.whole(...rules.deeds)
  for (let index = 0; index < deeds; index += 1) {
    const own = random.fork(`deed ${index}`)
    work.push(after(own.between(0, windowMs), () => rules.deed(scene, own)))
  }
  const blows = random.whole(...rules.blows)
  for (let index = 0; index < blows; index += 1) {
    const own = random.fork(`blow ${index}`)
    work.push(after(own.between(0, windowMs), () => rules.blow(scene, own)))
  }
  const ends = await Promise.allSettled(work)
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return blows
}

async function after(ms: number, act: () => Promise<void>): Promise<void> {
  await sleep(ms)
  await act()
}

/** Brings everything to rest and looks at it; after the last round also once all that waits is finished. */
async function look(
  world: World,
  isLast: boolean,
): Promise<{ faults: string[]; timelines: string }> {
  const { scene, random, bench, rules } = world
  const toRest = () => comeToRest(scene, bench.dataDir, random, rules.besides?.tend)
  try {
    const rest = await toRest()
    const found = await check(world, rest)
    if (found.faults.length > 0 || !isLast) return found
    await finish(world, rest.sessions)
    return await check(world, await toRest())
  } catch (error) {
    return { faults: [error instanceof Error ? error.message : String(error)], timelines: '' }
  } finally {
    bench.model.reset()
  }
}

/** Finishes those that can be, through everything that happens to the host. */
async function finish({ scene, rules }: World, sessions: readonly Session[]): Promise<void> {
  const { host, log } = scene
  for (const { id, ticket, state } of sessions) {
    if (!isFinishable(rules, state)) continue
    log.say(`finish of ${ticket} (${state})`)
    await host.call('finish', (client) => client.sessions.finish({ ref: id }))
  }
}

function isFinishable({ finishesParked }: Rules, state: Session['state']): boolean {
  return state === 'waiting' || (finishesParked && state === 'parked')
}

async function check(
  { bench, remote, scene, rules }: World,
  rest: AtRest,
): Promise<{ faults: string[]; timelines: string }> {
  const { host, ledger } = scene
  const life = await host.up()
  const faults: string[] = []
  const timelines: string[] = []
  for (const { id } of rest.sessions) {
    const follower = ledger.follower(id)
    if (follower === undefined) continue
    const held = await holdStill(bench, life.client, id, ledger)
    const { session, events } = held
    const found = sessionFaults(held)
    if (session.state === 'finished') {
      found.push(...(await workFaults(remote, session, events)))
      ledger.forget(id)
    }
    if (session.state === 'failed') scene.log.say(`${session.ticket} failed: ${session.reason}`)
    if (found.length > 0) timelines.push(`${session.ticket}\n${showEvents(events)}`)
    faults.push(...found)
  }
  faults.push(...((await rules.besides?.faults(host, rest)) ?? []))
  faults.push(...(await machineFaults(bench, life)))
  faults.push(...(await databaseFaults(bench.dataDir)))
  faults.push(...(await windowFaults(life, rest.sessions)))
  return { faults, timelines: timelines.join('\n\n') }
}

/** A session as it is while nothing of it changes: what a blow did may be noticed only now. */
async function holdStill(
  bench: Workbench,
  client: BalletClient,
  id: SessionId,
  ledger: Ledger,
): Promise<Held> {
  for (;;) {
    const before = await client.sessions.show({ ref: id })
    const events = await timelineOf(client, id)
    const inputs = await client.sessions.inputs({ ref: id })
    const session = await client.sessions.show({ ref: id })
    if (session.lastSeq !== before.lastSeq) continue
    return {
      session,
      events,
      inputs,
      said: ledger.saidTo(id),
      follower: ledger.follower(id),
      requests: requestsIn(bench.model, session),
    }
  }
}

function failure(
  { seed, rules, logFile }: RoundsOptions,
  log: BlowLog,
  faults: readonly string[],
  timelines: string,
): Error {
  return new Error(
    [
      `The blows (${rules.name}, seed ${seed}) broke something:`,
      ...faults.map((fault) => `- ${fault}`),
      '',
      `The round, of ${logFile}:`,
      ...log.lines(),
      '',
      timelines,
    ].join('\n'),
  )
}
