import type { BalletError } from '../../../src-shared/refusal.ts'
import type { DriverSignal, DriverSpec, Recovery, ResumeFacts } from '../driver.ts'
import { conversationLost, endedInStart } from '../failures.ts'
import { SecretMask } from '../mask-secrets.ts'
import { configFolder, launchEnvironment } from './launch.ts'
import { type DriverPorts, launchSession, startFailed } from './launch-session.ts'
import { type Conversation, readConversation } from './recover.ts'
import type { RuntimeProcess } from './runtime-process.ts'
import type { ClaudeCodeSession } from './session.ts'
import { holdsMessageOnce, locateTranscript } from './transcript.ts'

/** Not to answer in time proves nothing about the conversation. */
const PROOF_LIMIT_MS = 30_000
const TRY_AGAIN = 'Start the ticket again: the conversation is kept.'
/** The runtime writes its record a moment after it has printed the same. */
const RECORD_DELAY_MS = 300

/**
 * Goes on with a conversation: reads what its transcript holds, starts the runtime on it, and proves that the
 * conversation is loaded before anything is delivered.
 */
export async function resumeSession(
  spec: DriverSpec,
  facts: ResumeFacts,
  ports: DriverPorts,
  onSignal: (signal: DriverSignal) => void,
): Promise<{ session: ClaudeCodeSession; recovery: Recovery }> {
  const folder = configFolder(launchEnvironment(spec.env))
  const path = await locateTranscript(folder, spec.cwd, facts.conversation, { everywhere: true })
  const read = path === null ? null : await readTranscript(path, spec, facts, ports)
  if (path === null || read === null || read.proof === null) {
    return startAnew(spec, facts, ports, onSignal, path)
  }
  const { proof, recovery } = read
  const session = await launchSession({
    spec,
    conversation: facts.conversation,
    resume: true,
    ports,
    onSignal,
    prove: async (process) => {
      const outcome = await sendAgain(process, proof.uuid)
      if (outcome === 'replayed') return
      // A message without an answer is not just replayed; but it is not added to the record a second time either.
      const isOld = !proof.answered && (await holdsMessageOnce(path, proof.uuid, RECORD_DELAY_MS))
      if (!isOld) throw conversationLost('the runtime does not know its last message.')
    },
  })
  return { session, recovery }
}

async function readTranscript(
  path: string,
  spec: DriverSpec,
  facts: ResumeFacts,
  ports: DriverPorts,
): Promise<Conversation> {
  try {
    const mask = new SecretMask(spec.env)
    return await readConversation({ path, facts, cwd: spec.cwd, mask, now: ports.now })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw conversationLost(`its record ${path} cannot be read: ${why}`)
  }
}

/** No record of the conversation: that is right as long as the runtime never kept a message of it. */
async function startAnew(
  spec: DriverSpec,
  facts: ResumeFacts,
  ports: DriverPorts,
  onSignal: (signal: DriverSignal) => void,
  path: string | null,
): Promise<{ session: ClaudeCodeSession; recovery: Recovery }> {
  if (facts.recorded) {
    throw conversationLost(
      path === null
        ? `its record is not in ${configFolder(launchEnvironment(spec.env))} any more.`
        : `its record ${path} holds no message.`,
    )
  }
  const session = await launchSession({
    spec,
    // The runtime refuses an id for which it has a file already.
    conversation: path === null ? facts.conversation : ports.newConversation(),
    resume: false,
    ports,
    onSignal,
  })
  return {
    session,
    recovery: {
      signals: [],
      fates: new Map(facts.openDeliveries.map(({ id }) => [id, 'never' as const])),
    },
  }
}

/**
 * Sends a message of the conversation again, under its own uuid and without asking the model: a runtime that has
 * the conversation only replays it; for another one it is a new message, with a turn and a result.
 */
function sendAgain(process: RuntimeProcess, uuid: string): Promise<'replayed' | 'taken'> {
  return new Promise((resolve, reject) => {
    let began = false
    const timer = setTimeout(
      () =>
        fail(
          startFailed(
            `Claude Code did not answer within ${PROOF_LIMIT_MS / 1_000} s.`,
            process.stderr,
          ),
        ),
      PROOF_LIMIT_MS,
    )
    const fail = (error: BalletError) => {
      clearTimeout(timer)
      reject(error)
    }
    const done = (outcome: 'replayed' | 'taken') => {
      clearTimeout(timer)
      resolve(outcome)
    }
    process.handleWith({
      onLine: (decoded) => {
        if (decoded.kind !== 'line') return
        const { line } = decoded
        if (line.type === 'system' && line.subtype === 'init') began = true
        if (line.type === 'user' && line.isReplay === true && line.uuid === uuid && !began) {
          done('replayed')
        }
        if (line.type === 'result') done('taken')
      },
      onGarbage: () => undefined,
      onOversized: () => undefined,
    })
    void process.exited.then((exit) =>
      fail(endedInStart('Claude Code', exit, process.stderr, () => TRY_AGAIN)),
    )
    process
      .write({
        type: 'user',
        message: { role: 'user', content: 'The session was resumed.' },
        parent_tool_use_id: null,
        uuid,
        shouldQuery: false,
      })
      .catch((error: unknown) =>
        fail(startFailed(`Claude Code did not take a message: ${String(error)}`, process.stderr)),
      )
  })
}
