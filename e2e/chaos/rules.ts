import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionId } from '../../src-shared/ids.ts'
import { BLOWS, type Moment, strike } from '../blows/blows.ts'
import { newCommand, type Scene } from '../blows/deeds.ts'
import type { Random, Weights } from '../blows/random.ts'
import type { AtRest } from '../blows/rest.ts'
import type { RoundsOptions } from '../blows/rounds.ts'
import type { Rules } from '../blows/rules.ts'
import type { Workbench } from '../support/workbench.ts'
import { about, doChaosDeed } from './deeds.ts'
import { keptFaults } from './kept-checks.ts'
import { Outages } from './outages.ts'
import { useQuickRuntime } from './quick-runtime.ts'
import { QuietWork } from './quiet-work.ts'
import { workingScript } from './scripts.ts'

const MOMENTS: Weights<Moment> = {
  any: 2,
  'in a tool': 1,
  'in a stream': 1,
  'in a start': 3,
  'in a parking': 4,
}

/** So a session fails whose agents or runtimes are killed again and again. */
const KILLED_TOO_OFTEN = /in a row|three times/u

/** Nobody waits longer than this for a session to park by itself. */
const WINDOW_MS = 5_000

/**
 * Besides agents, runtimes and the host, the remote and the disk fail; sessions ask, wait, park and are resumed, and
 * some of them are left alone, so that their work must be the same whatever happens.
 */
export async function chaosRules(
  bench: Workbench,
): Promise<Pick<RoundsOptions, 'rules' | 'remote'>> {
  const remote = await bench.remote({ files: { 'README.md': '# Sample\n', 'src/a.txt': 'a\n' } })
  const outages = await Outages.over(remote, bench.dataDir, bench.atEnd)
  await useQuickRuntime(bench)
  const quietWork = new QuietWork()
  const failed = new Set<string>()
  let quiet: ReadonlySet<SessionId> = new Set()
  const rules: Rules = {
    name: 'chaos',
    kind: 'headless',
    agents: 3,
    shortage: outages.shortage,
    live: 4,
    projects: [
      { name: 'full', permission: 'full', planner: false, window: 'never' },
      { name: 'brief', permission: 'full', planner: false, window: '1s' },
      { name: 'ask', permission: 'ask', planner: false, window: '1s' },
    ],
    begun: ['full', 'full', 'brief', 'ask'],
    script: workingScript,
    deeds: [4, 10],
    blows: [1, 4],
    deed: doChaosDeed,
    blow: (scene, random) =>
      random.chance(0.4)
        ? outages.strike(scene.log, random)
        : strike(scene, random.weighted(BLOWS.headless), random.weighted(MOMENTS), random),
    finishesParked: true,
    besides: {
      before: (live, random) => {
        outages.forget()
        failed.clear()
        const rest = live.filter(({ state }) => state === 'waiting' || state === 'parked')
        const known = rest.filter((session) => quietWork.isKnown(session) && random.chance(0.5))
        quiet = new Set(known.map(({ id }) => id))
        return quiet
      },
      during: (scene, random) =>
        [...scene.quiet].map((id, index) => moveAround(scene, id, random.fork(`${index}`))),
      tend: async (scene, seen) => {
        for (const { ticket, reason } of seen.sessions.filter(({ state }) => state === 'failed')) {
          if (!outages.haveStruck && !KILLED_TOO_OFTEN.test(reason)) {
            failed.add(`${ticket} failed, and nothing was away: ${reason}`)
          }
        }
        return tendAll(scene, seen)
      },
      faults: async (_host, { sessions }) => [
        ...failed,
        ...(await quietWork.faults(sessions, quiet)),
        ...(await keptFaults(bench.dataDir, remote)),
      ],
    },
  }
  return { rules, remote }
}

/** Parks a session that is left alone, and mostly brings it back, with no word to it. */
async function moveAround(scene: Scene, id: SessionId, random: Random): Promise<void> {
  const show = () => scene.host.ask('a session', (client) => client.sessions.show({ ref: id }))
  await sleep(random.between(0, 1_000))
  if (random.chance(0.8)) await about(scene, 'park', await show(), random)
  await sleep(random.between(0, 1_500))
  if (random.chance(0.7)) await about(scene, 'resume', await show(), random)
}

/** A person resumes what failed and parks what would wait for minutes. */
async function tendAll({ host, log }: Scene, { sessions }: AtRest): Promise<string[]> {
  const reasons: string[] = []
  for (const { id, ticket, state, reason, parkAt, parked } of sessions) {
    const own = { ref: id, commandId: newCommand() }
    if (state === 'failed') {
      log.say(`${ticket} failed: ${reason}`)
      await host.call('resume', (client) => client.sessions.resume(own))
      reasons.push(`${ticket} failed: ${reason}`)
    } else if (state === 'parked' && parked?.wakes === true) reasons.push(`${ticket} has to wake`)
    if (parkAt === null) continue
    reasons.push(`${ticket} is to be parked`)
    if (Date.parse(parkAt) - Date.now() < WINDOW_MS) continue
    await host.call('park', (client) => client.sessions.park(own))
  }
  return reasons
}
