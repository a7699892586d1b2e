import type { BalletClient } from '../support/ballet-client.ts'
import { BLOWS, MOMENTS, strike } from './blows.ts'
import { type Deed, doDeed, type Scene } from './deeds.ts'
import type { HostKind, HostUnderBlows, HostUnderBlowsOptions } from './host-under-blows.ts'
import type { Random, Weights } from './random.ts'
import type { AtRest, Tend } from './rest.ts'
import { randomScript } from './scripts.ts'

type ProjectOf = Omit<Parameters<BalletClient['projects']['add']>[0], 'repo'>

/** What a kind of rounds is made of. */
export type Rules = HostUnderBlowsOptions & {
  /** Of the log and in messages. */
  readonly name: string
  /** How many sessions are not over when a round begins. */
  readonly live: number
  /** A session is begun in one as often as its name stands in `begun`. */
  readonly projects: readonly ProjectOf[]
  readonly begun: readonly string[]
  readonly script: Scene['script']
  /** How many deeds and blows a round has, at least and at most. */
  readonly deeds: readonly [number, number]
  readonly blows: readonly [number, number]
  /** What a person does. */
  deed(scene: Scene, random: Random): Promise<void>
  /** What fails. */
  blow(scene: Scene, random: Random): Promise<void>
  /** Sessions that stopped or parked are finished too, and all of them after the last round. */
  readonly finishesParked: boolean
  readonly besides?: Besides
}

/** What a kind of rounds does and looks after besides what all have. */
export type Besides = {
  /** Before a round, with what is live: the sessions to which nobody says anything in it. */
  before(live: AtRest['sessions'], random: Random): Scene['quiet']
  /** Done while deeds and blows come. */
  during(scene: Scene, random: Random): readonly Promise<void>[]
  readonly tend: Tend
  /** What is wrong at rest, as sentences. */
  faults(host: HostUnderBlows, rest: AtRest): Promise<string[]>
}

/** How often each comes. */
export const DEEDS: Weights<Deed> = {
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

/** Agents, runtimes and the host are killed, or the window. */
export function blowRules(kind: HostKind): Rules {
  return {
    name: kind,
    kind,
    agents: 3,
    // One more than agents, so that one waits.
    live: 4,
    projects: [
      { name: 'full', permission: 'full' },
      { name: 'ask', permission: 'ask' },
    ],
    begun: ['full', 'full', 'ask'],
    script: randomScript,
    deeds: [4, 8],
    blows: [1, 4],
    deed: (scene, random) => doDeed(scene, random.weighted(DEEDS), random),
    blow: (scene, random) =>
      strike(scene, random.weighted(BLOWS[kind]), random.weighted(MOMENTS), random),
    finishesParked: false,
  }
}
