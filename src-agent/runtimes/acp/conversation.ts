import { z } from 'zod'
import type { Recovery, ResumeFacts } from '../driver.ts'
import { conversationLost } from '../failures.ts'
import { chooseMode } from './choose-mode.ts'
import { startFailed } from './failures.ts'
import { ask, serversFor } from './handshake.ts'
import {
  type LaunchOptions,
  launchAgent,
  type Opened,
  type Started,
  type StartNotice,
} from './launch.ts'
import { chooseModel } from './model.ts'
import type { Modes } from './modes.ts'
import { type Replay, readReplay, recoveryOf } from './replay.ts'
import type { AcpSession } from './session.ts'

type Options = Omit<LaunchOptions, 'open' | 'lastRefs'>

const NewSession = z.looseObject({ sessionId: z.string().min(1) })

/** Begins a conversation. Rejects with `BalletError`; nothing is left running. */
export async function startConversation(options: Options): Promise<AcpSession> {
  const { session } = await launchAgent({
    ...options,
    lastRefs: [],
    open: (started) => beginNew(started, options),
  })
  return session
}

async function beginNew(started: Started, options: Options): Promise<Opened> {
  const { connection, handshake } = started
  const { agent, spec, ports } = options
  const { title } = agent
  const { servers, notices } = serversFor(handshake, spec.mcpServers, title)
  const answer = await ask(
    connection,
    'session/new',
    { cwd: spec.cwd, mcpServers: servers },
    { title, limitMs: ports.limits.newMs, loginHint: handshake.loginHint },
  )
  const { data } = NewSession.safeParse(answer)
  if (data === undefined) throw startFailed(title, 'it began a conversation without an id.')
  const conversation = data.sessionId
  const { modes, more } = await choose(started, options, conversation, answer)
  return { conversation, isNew: true, isEmpty: true, modes, notices: [...notices, ...more] }
}

/** Chooses the model and the mode of a conversation that the agent opened with this answer. */
async function choose(
  { connection }: Started,
  { agent, spec, ports }: Options,
  conversation: string,
  answer: unknown,
): Promise<{ modes: Modes | null; more: readonly StartNotice[] }> {
  const common = { conversation, title: agent.title, limits: ports.limits }
  const ofModel = await chooseModel(connection, answer, { ...common, model: spec.model })
  const { modes, notices } = await chooseMode(connection, answer, {
    ...common,
    permission: spec.permission,
  })
  return { modes, more: [...ofModel, ...notices] }
}

/**
 * Goes on with a conversation: the agent loads it and tells all of it again, which shows that it has it. Rejects with
 * `runtime.conversation-lost` when it does not.
 */
export async function resumeConversation(
  options: Options,
  facts: ResumeFacts,
): Promise<{ session: AcpSession; recovery: Recovery }> {
  const held: { replay: Replay | null } = { replay: null }
  const { session, makeNormalizer } = await launchAgent({
    ...options,
    lastRefs: facts.storedRefs,
    open: async (started) => {
      const opened = await loadOrBegin(started, options, facts)
      held.replay = opened.isNew ? null : readReplay(started.updates)
      return opened
    },
  })
  const at = options.ports.now()
  return { session, recovery: recoveryOf(held.replay, facts, makeNormalizer(), at) }
}

async function loadOrBegin(
  started: Started,
  options: Options,
  facts: ResumeFacts,
): Promise<Opened> {
  const { title } = options.agent
  // A message of it was certainly taken: an agent that does not know it has lost it.
  const began = facts.recorded
  if (!started.handshake.loadsSessions) {
    if (!began) return beginNew(started, options)
    throw conversationLost(`${title} cannot load an earlier conversation.`)
  }
  const loaded = await load(started, options, facts.conversation)
  if (loaded === null && began) throw conversationLost(`${title} does not know it any more.`)
  if (loaded === null) return beginNew(started, options)
  if (began && loaded.isEmpty) {
    throw conversationLost(`${title} loaded it, and told nothing of it.`)
  }
  return loaded
}

/** Null when the agent says that there is no such conversation. */
async function load(
  started: Started,
  options: Options,
  conversation: string,
): Promise<Opened | null> {
  const { connection, handshake } = started
  const { agent, spec, ports } = options
  const { title } = agent
  const { servers, notices } = serversFor(handshake, spec.mcpServers, title)
  const refused = conversationLost(`${title} refused to load it.`)
  let answer: unknown
  try {
    answer = await ask(
      connection,
      'session/load',
      { sessionId: conversation, cwd: spec.cwd, mcpServers: servers },
      {
        ...{ title, limitMs: ports.limits.loadMs, loginHint: handshake.loginHint },
        refused: () => refused,
      },
    )
  } catch (error) {
    if (error === refused) return null
    throw error
  }
  const isEmpty = readReplay(started.updates).userMessages === 0
  const { modes, more } = await choose(started, options, conversation, answer)
  return { conversation, isNew: false, isEmpty, modes, notices: [...notices, ...more] }
}
