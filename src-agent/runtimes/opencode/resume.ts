import { realpath } from 'node:fs/promises'
import type { DriverSignal, DriverSpec, Recovery, ResumeFacts } from '../driver.ts'
import { conversationLost } from '../failures.ts'
import { SecretMask } from '../mask-secrets.ts'
import type { ConversationApi } from './conversation-api.ts'
import { type DriverPorts, launchSession } from './launch-session.ts'
import { recover } from './recover.ts'
import type { OpencodeSession } from './session.ts'
import type { StoredMessage } from './wire.ts'

/**
 * Goes on with a conversation: the server must have it, for this workspace, with what the timeline holds last, before
 * anything is delivered.
 */
export async function resumeSession(
  spec: DriverSpec,
  facts: ResumeFacts,
  ports: DriverPorts,
  onSignal: (signal: DriverSignal) => void,
): Promise<{ session: OpencodeSession; recovery: Recovery }> {
  let recovery: Recovery = {
    signals: [],
    fates: new Map(facts.openDeliveries.map(({ id }) => [id, 'never' as const])),
  }
  const session = await launchSession({
    spec,
    ports,
    onSignal,
    conversation: async (api) => {
      const messages = await proven(api, spec, facts)
      if (messages === null) return null
      const servers = spec.mcpServers.map(({ name }) => name)
      const mask = new SecretMask(spec.env)
      recovery = recover(messages, { facts, cwd: spec.cwd, mask, servers, now: ports.now })
      return facts.conversation
    },
  })
  return { session, recovery }
}

/** The messages of the conversation; null where it never held one, so that a new one may begin. */
async function proven(
  api: ConversationApi,
  spec: DriverSpec,
  facts: ResumeFacts,
): Promise<StoredMessage[] | null> {
  const wasKept = facts.recorded
  const found = await api.session(facts.conversation)
  if (found === null) {
    if (wasKept) throw conversationLost(`opencode has no session ${facts.conversation} any more.`)
    return null
  }
  const [ran, runs] = await Promise.all([found.directory, spec.cwd].map(realPath))
  if (ran !== runs) {
    throw conversationLost(`opencode has it for the folder ${found.directory}.`)
  }
  const messages = await api.messages(facts.conversation)
  if (!messages.some(({ info }) => info.role === 'user')) {
    if (wasKept) throw conversationLost('its record holds no message.')
    return messages
  }
  const newest = facts.storedRefs.at(-1)?.split(':')[0]
  const isThere =
    newest === undefined ||
    holdsPart(messages, newest) ||
    (await isOfSubagent(api, facts.conversation, newest))
  if (!isThere) throw conversationLost(`its record does not hold what it said last (${newest}).`)
  return messages
}

function holdsPart(messages: readonly StoredMessage[], id: string): boolean {
  return messages.some(({ parts }) => parts.some((part) => part.id === id))
}

/** What a subagent says is in a conversation of its own. */
async function isOfSubagent(api: ConversationApi, parent: string, part: string): Promise<boolean> {
  for (const child of await api.children(parent)) {
    if (holdsPart(await api.messages(child), part)) return true
    if (await isOfSubagent(api, child, part)) return true
  }
  return false
}

/** A folder that is gone is where it was. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
