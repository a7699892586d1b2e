import type { Session } from '../../src-shared/records.ts'
import { doDeed, newCommand, type Scene, settle, shown } from '../blows/deeds.ts'
import type { BlowLog } from '../blows/log.ts'
import type { Random, Weights } from '../blows/random.ts'
import { DEEDS } from '../blows/rules.ts'
import type { BalletClient } from '../support/ballet-client.ts'

/** What a person does about parking. */
type ParkingDeed = 'park' | 'resume' | 'keep' | 'attend' | 'window' | 'drain' | 'answer a question'

const PARKING_DEEDS: Weights<ParkingDeed> = {
  park: 4,
  resume: 4,
  keep: 1,
  attend: 1,
  window: 1,
  drain: 1,
  'answer a question': 5,
}

export async function doChaosDeed(scene: Scene, random: Random): Promise<void> {
  if (random.chance(0.5)) return doDeed(scene, random.weighted(DEEDS), random)
  const deed = random.weighted(PARKING_DEEDS)
  if (deed === 'drain') return drain(scene, random)
  if (deed === 'answer a question') return answerQuestion(scene, random)
  const sessions = await scene.host.ask('sessions.list', (client) => client.sessions.list())
  const live = sessions.filter(({ state }) => !['finished', 'cancelled'].includes(state))
  const parked = live.filter(({ state }) => state === 'parked')
  const from = deed === 'resume' && parked.length > 0 ? parked : live
  if (from.length > 0) await about(scene, deed, random.pick(from), random)
}

/** Parks it now, or brings it back; what is refused is refused. */
export async function about(
  { host, log }: Scene,
  deed: Exclude<ParkingDeed, 'drain' | 'answer a question'>,
  { id, ticket, state }: Session,
  random: Random,
): Promise<void> {
  const own = { ref: id, commandId: newCommand() }
  const window = random.pick(['1s', 'never', null])
  const call = (client: BalletClient): Promise<unknown> => {
    switch (deed) {
      case 'park':
        return client.sessions.park(own)
      case 'resume':
        return client.sessions.resume(own)
      case 'keep':
        return client.sessions.keep({ ...own, for: '2s' })
      case 'attend':
        return client.sessions.attend({ ref: id })
      case 'window':
        return client.sessions.edit({ ...own, window })
    }
  }
  const answer = await host.call(deed, call)
  log.say(`${deed} of ${ticket} (${state}): ${shown(answer)}`)
}

/** Drains one agent or all, in one way or another, and takes it back. */
async function drain({ host, log }: Scene, random: Random): Promise<void> {
  const agents = await host.ask('agents.list', (client) => client.agents.list())
  const agent = random.chance(0.5) ? random.pick(agents).id : undefined
  const how = random.weighted({ gently: 2, now: 2, fast: 1 })
  const which = agent === undefined ? {} : { agent }
  const begin = newCommand()
  const answer = await host.call('drain', (client) =>
    client.agents.drain({ ...which, how, commandId: begin }),
  )
  log.say(`drain (${how}) of ${agent ?? 'every agent'}: ${shown(answer)}`)
  await sleepIn(log, random)
  const end = newCommand()
  const back = await host.call('the end of a drain', (client) =>
    client.agents.drain({ ...which, how: 'cancel', commandId: end }),
  )
  log.say(`${agent ?? 'every agent'} takes work again: ${shown(back)}`)
}

/** Answers an open question of somebody who is not left alone, by an option and a word with something to do. */
async function answerQuestion(scene: Scene, random: Random): Promise<void> {
  const { host, ledger, round, quiet, script } = scene
  const open = await host.ask('questions.list', (client) =>
    client.questions.list({ state: 'open', limit: 1_000 }),
  )
  const mine = open.filter(({ session }) => !quiet.has(session))
  if (mine.length === 0) return
  const { id, key, session } = random.pick(mine)
  const word = ledger.word('said', round)
  const text = `${word} ${script(random, (kind) => ledger.word(kind, round))}`
  const said = ledger.say(session, word, null)
  const commandId = newCommand()
  const answer = await host.call('an answer', (client) =>
    client.questions.answer({ ref: id, options: [1], text, sendNow: true, commandId }),
  )
  settle(scene, said, `answer ${word} to ${key}`, answer)
}

async function sleepIn(log: BlowLog, random: Random): Promise<void> {
  const ms = Math.round(random.between(100, 1_200))
  log.say(`drained for ${ms} ms`)
  await new Promise((resolve) => setTimeout(resolve, ms))
}
