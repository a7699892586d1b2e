import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionId } from '../../src-shared/ids.ts'
import type { Session } from '../../src-shared/records.ts'
import type { BalletClient } from '../support/ballet-client.ts'
import type { GitRemote } from '../support/git-remote.ts'
import { showEvents, timelineOf } from '../support/watch.ts'
import type { Workbench } from '../support/workbench.ts'
import { BLOWS, MOMENTS, strike } from './blows.ts'
import { type Held, requestsIn, rowFaults, sessionFaults } from './checks.ts'
import { begin, type Deed, doDeed, type Scene } from './deeds.ts'
import { type HostKind, HostUnderBlows } from './host-under-blows.ts'
import { Ledger } from './ledger.ts'
import { type BlowLog, openLog } from './log.ts'
import { databaseFaults, machineFaults, workFaults } from './machine.ts'
import { type Random, randomFrom } from './random.ts'
import { type AtRest, comeToRest } from './rest.ts'
import { windowFaults } from './window.ts'

export type RoundsOptions = {
  readonly rounds: number
  readonly seed: string
  readonly kind: HostKind
  /** Where every blow and deed is written, line by line. */
  readonly logFile: string
  readonly onRound?: (line: string) => void
}

const AGENTS = 3
/** How many sessions are live when a round begins: one more than agents, so that one waits. */
const LIVE = 4

const DEEDS: Readonly<Record<Deed, number>> = {
  begin: 1,
  message: 7,
  steer: 2,
  edit: 2,
  cancel: 1,
  interrupt: 4,
  answer: 3,
  stop: 1,
  start: 2,
  finish: 1,
}

/**
 * Runs sessions on one host and data folder, hits what runs them at random moments, and looks after each round whether
 * everything was kept.
 * @throws Error with the seed, the round, what is wrong, the log and the timelines, at the first round that is not
 */
export async function runRounds(bench: Workbench, options: RoundsOptions): Promise<void> {
  const log = openLog(options.logFile)
  const host = new HostUnderBlows(bench, log, { kind: options.kind, agents: AGENTS })
  const ledger = new Ledger()
  const remote = await bench.remote()
  const { client } = await host.up()
  for (const permission of ['full', 'ask'] as const) {
    await client.projects.add({ name: permission, repo: remote.path, permission })
  }
  const random = randomFrom(options.seed)
  try {
    for (let round = 1; round <= options.rounds; round += 1) {
      const scene: Scene = { round, host, ledger, log, projects: ['full', 'full', 'ask'] }
      log.round(round)
      const begun = performance.now()
      const world = { bench, remote, scene, random: random.fork(`round ${round}`) }
      const blows = await playRound(world).catch((error: unknown) => {
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
  readonly bench: Workbench
  readonly remote: GitRemote
  readonly scene: Scene
  readonly random: Random
}

/** Deeds and blows, each at its moment, until all are done; gives how many blows there were. */
async function playRound({ scene, random }: World): Promise<number> {
  const { host } = scene
  const sessions = await host.ask('sessions.list', (client) => client.sessions.list())
  const live = sessions.filter(({ state }) => !['finished', 'cancelled', 'parked'].includes(state))
  const windowMs = random.between(1_000, 2_200)
  // Some are over, so that others have room.
  const over = live.filter(({ state }) => state === 'waiting').slice(0, random.whole(0, 2))
  const work: Promise<void>[] = [finish(scene, over)]
  for (let missing = live.length - over.length; missing < LIVE; missing += 1) {
    work.push(begin(scene, random.fork(`begin ${missing}`)))
  }
  const deeds = random.whole(4, 8)
  for (let index = 0; index < deeds; index += 1) {
    const own = random.fork(`deed ${index}`)
    const deed = own.weighted(DEEDS)
    work.push(after(own.between(0, windowMs), () => doDeed(scene, deed, own)))
  }
  const blows = random.whole(1, 4)
  for (let index = 0; index < blows; index += 1) {
    const own = random.fork(`blow ${index}`)
    const blow = own.weighted(BLOWS[host.kind])
    const moment = own.weighted(MOMENTS)
    work.push(after(own.between(0, windowMs), () => strike(scene, blow, moment, own)))
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
  const { scene, random, bench } = world
  try {
    const rest = await comeToRest(scene, bench.dataDir, random)
    const found = await check(world, rest)
    if (found.faults.length > 0 || !isLast) return found
    await finish(scene, rest.sessions)
    return await check(world, await comeToRest(scene, bench.dataDir, random))
  } catch (error) {
    return { faults: [error instanceof Error ? error.message : String(error)], timelines: '' }
  } finally {
    bench.model.reset()
  }
}

/** Finishes those that wait. */
async function finish({ host, log }: Scene, sessions: readonly Session[]): Promise<void> {
  for (const { id, ticket, state } of sessions) {
    if (state !== 'waiting') continue
    log.say(`finish of ${ticket}, at rest`)
    await host.call('finish', (client) => client.sessions.finish({ ref: id }))
  }
}

async function check(
  { bench, remote, scene }: World,
  rest: AtRest,
): Promise<{ faults: string[]; timelines: string }> {
  const { host, ledger } = scene
  const life = await host.up()
  const faults = rowFaults(rest.sessions, rest.agents)
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
  faults.push(...(await machineFaults(bench, life)))
  faults.push(...databaseFaults(bench.dataDir))
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
  { seed, kind, logFile }: RoundsOptions,
  log: BlowLog,
  faults: readonly string[],
  timelines: string,
): Error {
  return new Error(
    [
      `The blows (${kind}, seed ${seed}) broke something:`,
      ...faults.map((fault) => `- ${fault}`),
      '',
      `The round, of ${logFile}:`,
      ...log.lines(),
      '',
      timelines,
    ].join('\n'),
  )
}
