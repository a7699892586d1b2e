import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent, Session } from '../../src-shared/records.ts'
import { HELD_BACK } from '../../src-shared/session-reasons.ts'
import type { BalletClient } from '../support/ballet-client.ts'
import { rowFaults } from './checks.ts'
import { answerOne, type Scene } from './deeds.ts'
import { pendingIn } from './machine.ts'
import type { Random } from './random.ts'

export type AtRest = { readonly sessions: readonly Session[]; readonly agents: readonly Agent[] }

/** Does what a person has to do before all is at rest; gives what is not yet as it should be. */
export type Tend = (scene: Scene, seen: AtRest) => Promise<readonly string[]>

/** Several sessions in a row, each with a start of its runtime, on a machine that is busy with something else. */
const REST_LIMIT_MS = 180_000

/**
 * Waits until nothing is under way any more: agents up, every session waiting, stopped, over, or in the queue for an
 * agent that is not free, and agents and sessions say the same of each other. What asks for permission is answered.
 * @throws Error with what does not come to rest
 */
export async function comeToRest(
  scene: Scene,
  dataDir: string,
  random: Random,
  tend: Tend = async () => [],
): Promise<AtRest> {
  const { host } = scene
  const deadline = performance.now() + REST_LIMIT_MS
  let calm = 0
  let unrest: readonly string[] = []
  let told = ''
  while (performance.now() < deadline) {
    await host.up()
    await answerOne(scene, random)
    const { seen, reasons } = await host.ask('the state of everything', look)
    unrest = [...reasons, ...pendingIn(dataDir), ...(await tend(scene, seen))]
    calm = unrest.length === 0 ? calm + 1 : 0
    // So that the log shows what a round waited for.
    const now = unrest.join('; ')
    if (now !== told) scene.log.say(now === '' ? 'at rest' : `not at rest: ${now}`)
    told = now
    // What has just been stored may be about to begin something.
    if (calm === 3) return seen
    await sleep(calm > 0 ? 40 : 80)
  }
  throw new Error(`It does not come to rest in ${REST_LIMIT_MS / 1_000} s:\n${unrest.join('\n')}`)
}

async function look(client: BalletClient): Promise<{ seen: AtRest; reasons: string[] }> {
  const [agents, sessions, open] = await Promise.all([
    client.agents.list(),
    client.sessions.list(),
    client.requests.list({ state: 'open' }),
  ])
  // An agent is free a moment after the row of its session says so, and the two are not read in one moment.
  const reasons = rowFaults(sessions, agents)
  const free = agents.filter(({ state }) => state === 'idle').length
  for (const { id, state } of agents) {
    if (state === 'offline' || state === 'draining') reasons.push(`${id} is ${state}`)
  }
  for (const session of sessions) {
    const { state, agent, queuedInputs, ticket } = session
    const isHeld = agent !== null
    if (['starting', 'working'].includes(state)) reasons.push(`${ticket} is ${state}`)
    if (state === 'parking' && isHeld) reasons.push(`${ticket} is parking`)
    if (state === 'resuming' && isHeld) reasons.push(`${ticket} is being brought back`)
    // One whose agent died while it parked waits for another one too.
    if (['queued', 'resuming', 'parking'].includes(state) && !isHeld && free > 0) {
      reasons.push(`${ticket} is ${state} while an agent is free`)
    }
    // What was interrupted before its turn began waits for the person, and says so.
    const isHeldBack = session.reason === HELD_BACK
    if (state === 'waiting' && queuedInputs > 0 && !isHeldBack) {
      reasons.push(`${ticket} has queued inputs`)
    }
  }
  // Until the fate of what a killed runtime was given is told, the session waits, and is brought back.
  const waiting = sessions.filter(({ state }) => state === 'waiting')
  const sent = await Promise.all(
    waiting.map(({ id }) => client.sessions.inputs({ ref: id, state: 'sent' })),
  )
  for (const [index, { ticket }] of waiting.entries()) {
    if ((sent[index] ?? []).length > 0) reasons.push(`${ticket} has an input under way`)
  }
  for (const { ticket, title, waits } of open) {
    if (waits) reasons.push(`${ticket} asks: ${title}`)
  }
  return { seen: { sessions, agents }, reasons }
}
