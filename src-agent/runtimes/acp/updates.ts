import { z } from 'zod'

// Looser than the protocol: what an agent leaves out or gets wrong costs that one thing, not the whole update.

const text = z.string().nullish().catch(null)

const Content = z
  .looseObject({ type: z.string(), text, mimeType: text, uri: text, name: text })
  .catch({ type: 'unknown' })

const ToolContent = z
  .looseObject({
    type: z.string(),
    content: Content.optional(),
    path: text,
    oldText: text,
    newText: text,
    terminalId: text,
  })
  .catch({ type: 'unknown' })
export type ToolContent = z.infer<typeof ToolContent>

/** A call as it is told first, and every change of it: what is absent stays as it was. */
export const ToolCallUpdate = z.looseObject({
  toolCallId: z.string().min(1),
  name: text,
  title: text,
  kind: text,
  status: text,
  content: z.array(ToolContent).nullish().catch(null),
  locations: z
    .array(z.looseObject({ path: z.string() }))
    .nullish()
    .catch(null),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
})
export type ToolCallUpdate = z.infer<typeof ToolCallUpdate>

const Chunk = z.looseObject({ content: Content, messageId: text })

const Entry = z.looseObject({ content: z.string(), status: text })

const kind = <K extends string>(name: K) => ({ sessionUpdate: z.literal(name) })

const Known = z.discriminatedUnion('sessionUpdate', [
  Chunk.extend(kind('agent_message_chunk')),
  Chunk.extend(kind('agent_thought_chunk')),
  Chunk.extend(kind('user_message_chunk')),
  ToolCallUpdate.extend(kind('tool_call')),
  ToolCallUpdate.extend(kind('tool_call_update')),
  z.looseObject({ ...kind('plan'), entries: z.array(Entry) }),
  z.looseObject({
    ...kind('usage_update'),
    used: z.number().min(0).nullish().catch(null),
    size: z.number().min(0).nullish().catch(null),
    cost: z
      .looseObject({ amount: z.number().min(0), currency: z.string() })
      .nullish()
      .catch(null),
  }),
  z.looseObject({ ...kind('notice'), title: text, description: text, severity: text }),
  z.looseObject({ ...kind('compaction_update'), status: text, error: text }),
  z.looseObject(kind('compaction_summary_chunk')),
  z.looseObject(kind('available_commands_update')),
  z.looseObject({ ...kind('current_mode_update'), currentModeId: text }),
  z.looseObject(kind('config_option_update')),
  z.looseObject(kind('session_info_update')),
])
export type Update = z.infer<typeof Known>

const Params = z.looseObject({ sessionId: z.string(), update: z.unknown().optional() })
const Named = z.looseObject({ sessionUpdate: z.string() })

/** Reads the `params` of a `session/update`; one that cannot be read gives what it was. */
export function readUpdate(
  params: unknown,
): { session: string; update: Update } | { unknown: string } {
  const outer = Params.safeParse(params)
  if (!outer.success) return { unknown: 'an update without its session' }
  const update = Known.safeParse(outer.data.update)
  if (update.success) return { session: outer.data.sessionId, update: update.data }
  const named = Named.safeParse(outer.data.update)
  return { unknown: named.success ? `update/${named.data.sessionUpdate}` : 'an update of no kind' }
}

/** The text of a piece of content; what is not text is named. */
export function contentText(content: z.infer<typeof Content>): string {
  if (content.type === 'text') return content.text ?? ''
  const name = content.uri ?? content.name ?? content.mimeType ?? ''
  return `[${content.type}${name === '' ? '' : ` ${name}`}]`
}
