import { BalletError } from '../../../src-shared/refusal.ts'
import type { DriverSignal, DriverSpec, Recovery, ResumeFacts } from '../driver.ts'
import { conversationLost } from '../failures.ts'
import { type AppServer, RpcError } from './app-server.ts'
import { codexHome, launchEnvironment } from './launch.ts'
import {
  beginThread,
  type DriverPorts,
  launchSession,
  maskOf,
  resumeThread,
  type Thread,
} from './launch-session.ts'
import { type Turn, TurnsResult } from './protocol.ts'
import { holdsAny, locateRecord } from './record.ts'
import { recover } from './recover.ts'
import type { CodexSession } from './session.ts'

const LIST_LIMIT_MS = 30_000
/** What was under way when a session was cut is in its newest turns. */
const TURNS_READ = 3

/**
 * Goes on with a conversation, and proves that the server has it before anything is delivered: it lists its turns, and
 * the file that it names as its record holds what the timeline knows of the last turn.
 */
export async function resumeSession(
  spec: DriverSpec,
  facts: ResumeFacts,
  ports: DriverPorts,
  onSignal: (signal: DriverSignal) => void,
): Promise<{ session: CodexSession; recovery: Recovery }> {
  const home = codexHome(launchEnvironment(spec.env))
  const record = await locateRecord(home, facts.conversation)
  if (record === null) return startAnew(spec, facts, ports, onSignal, home)
  const { session, outcome } = await launchSession({
    ...{ spec, ports, onSignal },
    open: async (server) => {
      const thread = await loadThread(server, spec, facts)
      const turns = await newestTurns(server, thread)
      await prove(thread, turns, facts)
      return { thread, outcome: turns }
    },
  })
  const { now } = ports
  return { session, recovery: recover(outcome, { facts, cwd: spec.cwd, mask: maskOf(spec), now }) }
}

async function loadThread(
  server: AppServer,
  spec: DriverSpec,
  facts: ResumeFacts,
): Promise<Thread> {
  try {
    return await resumeThread(server, spec, facts.conversation)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (OF_THE_RECORD.test(error.message)) throw conversationLost(`Codex says: ${error.message}`)
    throw cannotLoad(error.message)
  }
}

/** What Codex says of a record that it cannot use. Everything else that it refuses may go well another time. */
const OF_THE_RECORD =
  /rollout|session metadata|(thread|conversation) not found|no (thread|conversation)/i

function cannotLoad(why: string): BalletError {
  return new BalletError({
    code: 'runtime.start-failed',
    message: `Codex does not go on with the conversation now: ${why}`,
    hint: /active writer/i.test(why)
      ? 'Another Codex has it open: end that one, then send a message. The conversation is kept.'
      : 'See to what Codex says, then send a message to try again. The conversation is kept.',
  })
}

/** The oldest of them first. */
async function newestTurns(server: AppServer, thread: Thread): Promise<Turn[]> {
  const params = { threadId: thread.id, limit: TURNS_READ, itemsView: 'full' }
  const listed = await server.request('thread/turns/list', params, LIST_LIMIT_MS)
  return TurnsResult.parse(listed).data.reverse()
}

async function prove(thread: Thread, turns: readonly Turn[], facts: ResumeFacts): Promise<void> {
  if (thread.id !== facts.conversation) {
    throw conversationLost(`Codex resumed ${thread.id} instead.`)
  }
  if (!facts.recorded) return
  if (turns.length === 0) throw conversationLost('Codex has no turn of it.')
  const refs = facts.storedRefs.map((ref) => ref.replace(/:result$/, ''))
  if (refs.length === 0 || thread.record === null) return
  if (!(await holdsAny(thread.record, refs))) {
    throw conversationLost(`its record ${thread.record} does not hold its last turn.`)
  }
}

/** No record of the conversation: that is right as long as the server never kept a message of it. */
async function startAnew(
  spec: DriverSpec,
  facts: ResumeFacts,
  ports: DriverPorts,
  onSignal: (signal: DriverSignal) => void,
  home: string,
): Promise<{ session: CodexSession; recovery: Recovery }> {
  if (facts.recorded) throw conversationLost(`its record is not in ${home} any more.`)
  const { session } = await launchSession({
    ...{ spec, ports, onSignal },
    open: (server) => beginThread(server, spec),
  })
  const fates = new Map(facts.openDeliveries.map(({ id }) => [id, 'never' as const]))
  return { session, recovery: { signals: [], fates } }
}
