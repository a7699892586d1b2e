import { z } from 'zod'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { AgentConnection } from './connection.ts'
import { ask } from './handshake.ts'
import type { Limits } from './limits.ts'

const Choice = z.looseObject({ value: z.string() })
const Choices = z.array(z.union([Choice, z.looseObject({ options: z.array(Choice) })]))

/** What an agent says of its models when a conversation begins; two ways are in use. */
const Models = z.looseObject({
  configOptions: z
    .array(
      z.looseObject({
        id: z.string(),
        category: z.string().nullish().catch(null),
        currentValue: z.unknown().optional(),
        options: Choices.optional().catch(undefined),
      }),
    )
    .nullish()
    .catch(null),
  models: z
    .looseObject({
      currentModelId: z.string(),
      availableModels: z.array(z.looseObject({ modelId: z.string() })),
    })
    .nullish()
    .catch(null),
})

/**
 * Chooses the model of a conversation. Gives what people must know when the agent lets nobody choose. Rejects with
 * `runtime.start-failed` for one that it does not have.
 */
export async function chooseModel(
  connection: AgentConnection,
  opened: unknown,
  wanted: { model: string | null; conversation: string; title: string; limits: Limits },
): Promise<{ code: string; text: string }[]> {
  const { model, conversation: sessionId, title, limits } = wanted
  if (model === null) return []
  const { data } = Models.safeParse(opened)
  const option = data?.configOptions?.find(({ id, category }) => (category ?? id) === 'model')
  const options = { title, limitMs: limits.answerMs }
  if (option !== undefined) {
    if (option.currentValue === model) return []
    const known = (option.options ?? []).flatMap((choice) =>
      'value' in choice ? [String(choice.value)] : (choice.options ?? []).map(({ value }) => value),
    )
    if (known.length > 0 && !known.includes(model)) throw unknownModel(title, model, known)
    const params = { sessionId, configId: option.id, value: model }
    await ask(connection, 'session/set_config_option', params, options)
    return []
  }
  if (data?.models !== undefined && data.models !== null) {
    if (data.models.currentModelId === model) return []
    const known = data.models.availableModels.map(({ modelId }) => modelId)
    if (!known.includes(model)) throw unknownModel(title, model, known)
    await ask(connection, 'session/set_model', { sessionId, modelId: model }, options)
    return []
  }
  const text = `${title} lets nobody choose its model over the protocol: it uses its own, not ${model}.`
  return [{ code: 'acp.model', text }]
}

function unknownModel(title: string, model: string, known: readonly string[]): BalletError {
  const some = known.slice(0, 10).join(', ')
  return new BalletError({
    code: 'runtime.start-failed',
    message: `${title} has no model ${model}.`,
    hint: `Choose another one in the settings of the project, such as ${some}.`,
  })
}
