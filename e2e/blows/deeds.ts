import { v7 as uuid } from 'uuid'
import { CommandId, InputId } from '../../src-shared/ids.ts'
import type { Session } from '../../src-shared/records.ts'
import type { Answer, HostUnderBlows } from './host-under-blows.ts'
import type { Ledger, Said } from './ledger.ts'
import type { BlowLog } from './log.ts'
import type { Random } from './random.ts'
import { randomScript } from './scripts.ts'

export type Deed = 'begin' | 'message' | 'interrupt' | 'answer' | 'stop' | 'start' | 'finish'

/** What a round works on. */
export type Scene = {
  readonly round: number
  readonly host: HostUnderBlows
  readonly ledger: Ledger
  readonly log: BlowLog
  readonly projects: readonly string[]
}

const newCommand = () => CommandId.parse(uuid())

/** What a person does, through whatever happens to the host meanwhile. What is refused is refused. */
export async function doDeed(scene: Scene, deed: Deed, random: Random): Promise<void> {
  if (deed === 'begin') return begin(scene, random)
  const sessions = await scene.host.ask('sessions.list', (client) => client.sessions.list())
  const live = sessions.filter(({ state }) => !['finished', 'cancelled'].includes(state))
  if (live.length === 0) return
  switch (deed) {
    case 'message':
      return message(scene, random, random.pick(live))
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
  const { host, ledger, round, log } = scene
  const word = ledger.word('ticket', round)
  const body = `${word} ${randomScript(random, (kind) => ledger.word(kind, round))}`
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

async function message(scene: Scene, random: Random, session: Session): Promise<void> {
  const { host, said, text, input } = compose(scene, random, session)
  const answer = await host.call('sessions.send', (client) =>
    client.sessions.send({ ref: session.id, text, input }),
  )
  settle(scene, said, `message ${said.word} to ${session.ticket}`, answer)
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

/** Answers one open permission request; false when there is none. */
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

function compose({ ledger, round, host }: Scene, random: Random, session: Session) {
  const word = ledger.word('said', round)
  const input = InputId.parse(uuid())
  const text = `${word} ${randomScript(random, (kind) => ledger.word(kind, round))}`
  return { host, said: ledger.say(session.id, word, input), text, input }
}

function settle({ log }: Scene, said: Said, what: string, answer: Answer<unknown>): void {
  said.outcome = answer.kind === 'done' ? 'taken' : 'refused'
  log.say(`${what}: ${shown(answer)}`)
}

function shown(answer: Answer<unknown>): string {
  return answer.kind === 'done' ? 'done' : `refused, ${answer.refusal.code}`
}
