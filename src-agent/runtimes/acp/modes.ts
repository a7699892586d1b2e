import { z } from 'zod'
import type { PermissionMode } from '../../../src-shared/records.ts'

/** A way of an agent to work, such as one that asks before it does something. */
export type Mode = { id: string; name: string }

/** What an agent said of its modes: the id of the current one, and those that can be chosen. */
export type Modes = { current: string; offered: readonly Mode[] }

const Answer = z.looseObject({
  modes: z
    .looseObject({
      currentModeId: z.string(),
      availableModes: z
        .array(z.looseObject({ id: z.string(), name: z.string().catch('') }))
        .catch([]),
    })
    .nullish()
    .catch(null),
})

/** The modes in the answer to `session/new` or `session/load`; null where it has none. */
export function readModes(answer: unknown): Modes | null {
  const modes = Answer.safeParse(answer).data?.modes ?? null
  if (modes === null) return null
  const offered = modes.availableModes.map(({ id, name }) => ({ id, name: name.trim() || id }))
  return { current: modes.currentModeId, offered }
}

/** What people call a mode; its id where nobody gave it a name. */
export function modeName(modes: Modes, id: string): string {
  return modes.offered.find((mode) => mode.id === id)?.name ?? id
}

/** The protocol says of no mode what it asks for: only the names tell. */
const ASKS_NOTHING = /yolo|auto|bypass|accept|full.?access|don.?t.?ask/i
const ASKING_IDS = ['default', 'ask', 'approve']
const ASKING_NAME = /\b(?:default|asks?)\b/i

/** What is to be done about the mode in which a conversation was opened. */
export type ModeChoice =
  | { choice: 'keep' }
  | { choice: 'set'; mode: Mode }
  /** It asks for nothing, and none is offered that does. */
  | { choice: 'none' }

/** Where the project wants to be asked, an agent must not begin in a mode that asks for nothing. */
export function modeFor(modes: Modes | null, permission: PermissionMode): ModeChoice {
  if (modes === null || permission === 'full') return { choice: 'keep' }
  const asksNothing = ({ id, name }: Mode) => ASKS_NOTHING.test(`${id} ${name}`)
  const { current } = modes
  if (!asksNothing({ id: current, name: modeName(modes, current) })) return { choice: 'keep' }
  const others = modes.offered.filter((mode) => !asksNothing(mode))
  const mode =
    ASKING_IDS.flatMap((id) => others.find((other) => other.id === id) ?? [])[0] ??
    others.find(({ name }) => ASKING_NAME.test(name))
  return mode === undefined ? { choice: 'none' } : { choice: 'set', mode }
}
