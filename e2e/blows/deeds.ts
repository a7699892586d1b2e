import { v7 as uuid } from 'uuid'
import { CommandId, InputId, type SessionId } from '../../src-shared/ids.ts'
import type { Session } from '../../src-shared/records.ts'
import type { Answer, HostUnderBlows } from './host-under-blows.ts'
import type { Ledger, Said } from './ledger.ts'
import type { BlowLog } from './log.ts'
import type { Random } from './random.ts'

export type Deed =
  | 'begin'
  | 'message'
  | 'steer'
  | 'edit'
  | 'cancel'
  | 'interrupt'
  | 'answer'
  | 'stop'
  | 'start'
  | 'finish'

/** What a round works on. */
export type Scene = {
  readonly round: number
  readonly host: HostUnderBlows
  readonly ledger: Ledger
  readonly log: BlowLog
  readonly projects: readonly string[]
  /** Text that makes the model do something in a turn; each thing is named by a word of its own. */
  readonly script: (random: Random, word: (kind: string) => string) => string
  /** Nobody says or does anything to these sessions in this round. */
  readonly quiet: ReadonlySet<SessionId>
}

export const newCommand = () => CommandId.parse(uuid())

/** What a person does, through whatever happens to the host meanwhile. What is refused is refused. */
export async function doDeed(scene: Scene, deed: Deed, random: Random): Promise<void> {
  if (deed === 'begin') return begin(scene, random)
  const sessions = await scene.host.ask('sessions.list', (client) => client.sessions.list())
  const live = sessions.filter(
    ({ id, state }) => !['finished', 'cancelled'].includes(state) && !scene.quiet.has(id),
  )
  if (live.length === 0) return
  switch (deed) {
    case 'message':
      return message(scene, random, random.pick(live), false)
    case 'steer': {
      const working = live.filter(({ state }) => state === 'working')
      return message(scene, random, random.pick(working.length > 0 ? working : live), true)
    }
    case 'edit':
    case 'cancel': {
      const queueing = live.filter(({ queuedInputs }) => queuedInputs > 0)
      if (queueing.length > 0) await changeInput(scene, deed, random, random.pick(queueing))
      return
    }
    case 'interrupt': {
      const working = live.filter(({ state }) => state === 'working')
      return interrupt(scene, random, random.pick(working.length > 0 ? working : live))
    }
    case 'answer':
      return answerOne(scene, random)
    case 'stop':
      return command(scene, 'stop', random.pick(live))
    case 'finish':
      return command(scene, 'finish', random.pick(live))
    case 'start': {
      const stopped = live.filter(({ state }) => state === 'parked' || state === 'failed')
      if (stopped.length > 0) await command(scene, 'start', random.pick(stopped))
    }
  }
}

/** Writes a ticket and gives it to an agent. */
export async function begin(scene: Scene, random: Random): Promise<void> {
  const { host, ledger, round, log, script } = scene
  const word = ledger.word('ticket', round)
  const body = `${word} ${script(random, (kind) => ledger.word(kind, round))}`
  const project = random.pick(scene.projects)
  const commandId = newCommand()
  const ticket = await host.ask('tickets.add', (client) =>
    client.tickets.add({ project, title: `Work ${round}`, body, start: true, commandId }),
  )
  const session = await host.ask('sessions.show', (client) =>
    client.sessions.show({ ref: ticket.key }),
  )
  ledger.say(session.id, word, null).outcome = 'taken'
  ledger.follow(session.id, host)
  log.say(`${ticket.key} (${project}) is begun: ${session.id}`)
}

async function message(
  scene: Scene,
  random: Random,
  session: Session,
  steer: boolean,
): Promise<void> {
  const { host, said, text, input } = compose(scene, random, session)
  const answer = await host.call('sessions.send', (client) =>
    client.sessions.send({ ref: session.id, text, input, steer }),
  )
  const what = `${steer ? 'steered ' : ''}message ${said.word} to ${session.ticket}`
  settle(scene, said, what, answer)
}

/** Edits or cancels an input that is queued, if it still is by then. */
async function changeInput(
  { host, ledger, round, log, script }: Scene,
  what: 'edit' | 'cancel',
  random: Random,
  session: Session,
): Promise<void> {
  const queued = await host.ask('sessions.inputs', (client) =>
    client.sessions.inputs({ ref: session.id, state: 'queued' }),
  )
  const mine = queued.filter(({ id }) => ledger.saidWith(id) !== undefined)
  if (mine.length === 0) return
  const { id } = random.pick(mine)
  const said = ledger.saidWith(id)
  if (said === undefined) return
  const commandId = newCommand()
  if (what === 'cancel') {
    const answer = await host.call('inputs.cancel', (client) =>
      client.inputs.cancel({ ref: id, commandId }),
    )
    return log.say(`cancel of ${said.word}: ${shown(answer)}`)
  }
  const word = ledger.word('said', round)
  const text = `${word} ${script(random, (kind) => ledger.word(kind, round))}`
  const answer = await host.call('inputs.edit', (client) =>
    client.inputs.edit({ ref: id, text, commandId }),
  )
  log.say(`edit of ${said.word} to ${word}: ${shown(answer)}`)
  if (answer.kind === 'refused') return
  said.withdrawn.push(said.word)
  said.word = word
}

async function interrupt(scene: Scene, random: Random, session: Session): Promise<void> {
  const { host, log } = scene
  const commandId = newCommand()
  if (random.chance(0.5)) {
    const answer = await host.call('sessions.interrupt', (client) =>
      client.sessions.interrupt({ ref: session.id, commandId }),
    )
    log.say(`interrupt of ${session.ticket}: ${shown(answer)}`)
    return
  }
  const { said, text, input } = compose(scene, random, session)
  const answer = await host.call('sessions.interrupt', (client) =>
    client.sessions.interrupt({ ref: session.id, text, input, commandId }),
  )
  settle(scene, said, `interrupt ${said.word} of ${session.ticket}`, answer)
}

async function command(
  { host, log }: Scene,
  what: 'stop' | 'start' | 'finish',
  session: Session,
): Promise<void> {
  const commandId = newCommand()
  const answer = await host.call(what, async (client): Promise<unknown> => {
    if (what === 'start') return client.tickets.start({ ref: session.ticket, commandId })
    return client.sessions[what]({ ref: session.id, commandId })
  })
  log.say(`${what} of ${session.ticket} (${session.state}): ${shown(answer)}`)
}

/** Answers one open permission request, if there is one. */
export async function answerOne({ host, log }: Scene, random: Random): Promise<void> {
  const open = await host.ask('requests.list', (client) => client.requests.list({ state: 'open' }))
  if (open.length === 0) return
  const request = random.pick(open)
  const commandId = newCommand()
  const how = random.weighted({ allow: 4, 'for the session': 1, deny: 2 })
  const answer = await host.call('a request', (client) =>
    how === 'deny'
      ? client.requests.deny({ ref: request.id, text: 'Not this way.', commandId })
      : client.requests.allow({ ref: request.id, forSession: how !== 'allow', commandId }),
  )
  log.say(`${how} ${request.title} of ${request.ticket}: ${shown(answer)}`)
}

function compose({ ledger, round, host, script }: Scene, random: Random, session: Session) {
  const word = ledger.word('said', round)
  const input = InputId.parse(uuid())
  const text = `${word} ${script(random, (kind) => ledger.word(kind, round))}`
  return { host, said: ledger.say(session.id, word, input), text, input }
}

export function settle(
  { log }: Pick<Scene, 'log'>,
  said: Said,
  what: string,
  answer: Answer<unknown>,
): void {
  said.outcome = answer.kind === 'done' ? 'taken' : 'refused'
  log.say(`${what}: ${shown(answer)}`)
}

export function shown(answer: Answer<unknown>): string {
  return answer.kind === 'done' ? 'done' : `refused, ${answer.refusal.code}`
}
