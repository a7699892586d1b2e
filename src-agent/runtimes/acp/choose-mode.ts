import type { PermissionMode } from '../../../src-shared/records.ts'
import { type AgentConnection, agentErrorOf } from './connection.ts'
import type { StartNotice } from './launch.ts'
import type { Limits } from './limits.ts'
import { type Modes, modeFor, modeName, readModes } from './modes.ts'
import { detailOf } from './turn-end.ts'

/** Chooses the mode of a conversation. Gives the one that it is in then, and what people must know; never rejects. */
export async function chooseMode(
  connection: AgentConnection,
  opened: unknown,
  wanted: { permission: PermissionMode; conversation: string; title: string; limits: Limits },
): Promise<{ modes: Modes | null; notices: readonly StartNotice[] }> {
  const { permission, conversation: sessionId, title, limits } = wanted
  const modes = readModes(opened)
  const decided = modeFor(modes, permission)
  if (modes === null || decided.choice === 'keep') return { modes, notices: [] }
  const code = 'acp.mode'
  const begun = modeName(modes, modes.current)
  const risk = 'it may do everything unasked, although the project wants to be asked'
  if (decided.choice === 'none') {
    const text = `${title} is in its mode “${begun}” and offers none that asks: ${risk}. Choose another mode in the settings of the agent.`
    return { modes, notices: [{ code, text }] }
  }
  const { mode } = decided
  try {
    const params = { sessionId, modeId: mode.id }
    await connection.request('session/set_mode', params, limits.answerMs)
  } catch (error) {
    const answered = agentErrorOf(error)
    const why = answered === null ? messageOf(error) : detailOf(answered, title)
    const text = `${title} is in its mode “${begun}” and did not change to “${mode.name}”: ${risk}. ${why}`
    return { modes, notices: [{ code, text }] }
  }
  const text = `${title} was in its mode “${begun}”; Ballet chose “${mode.name}”, since the project wants to be asked.`
  return {
    modes: { ...modes, current: mode.id },
    notices: [{ code, text, level: 'info' }],
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
