import { Input } from '../../src-shared/records.ts'
import { accept, type Result } from '../../src-shared/refusal.ts'
import { type Reader, receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import type { Decision } from '../decide/change.ts'
import {
  cancelInput,
  editInput,
  type InputFacts,
  moveInput,
  steerQueued,
} from '../decide/input-commands.ts'
import { viewInput } from '../project/views.ts'
import { loadFacts } from '../sessions/session-facts.ts'
import type { InputRow } from '../storage/rows.ts'
import { type CallContext, checkNotDeleting, orGone } from './context.ts'
import { resolveInput } from './resolve.ts'

type Command = { ref: string; commandId?: Parameters<typeof receiptOf>[1] }

export function inputCalls(context: CallContext): Calls['inputs'] {
  const { committer, fleet, ports } = context

  const command = (
    call: string,
    { ref, commandId }: Command,
    decide: (
      state: InputFacts,
      now: string,
      read: Reader,
    ) => Result<Decision<InputRow>> | Promise<Result<Decision<InputRow>>>,
  ): Promise<Result<Input>> =>
    committer.transact<Input>(
      async (read, now) => {
        const input = await resolveInput(read, ref)
        if (!input.ok) return input
        const facts = orGone('session', await loadFacts(read, input.value.sessionId))
        if (!facts.ok) return facts
        const free = checkNotDeleting(context, facts.value.ticket)
        if (!free.ok) return free
        const decision = await decide({ facts: facts.value, input: input.value }, now, read)
        if (!decision.ok) return decision
        const { change, answer } = decision.value
        return accept({ change, answer: viewInput(answer) })
      },
      receiptOf(call, commandId, Input),
    )

  return {
    show: async ({ ref }) => {
      const found = await resolveInput(committer.cache, ref)
      return found.ok ? accept(viewInput(found.value)) : found
    },

    edit: ({ text, ...rest }) =>
      command('inputs.edit', rest, (state, now) => editInput(state, text, now)),

    cancel: (rest) => command('inputs.cancel', rest, cancelInput),

    move: ({ before, ...rest }) =>
      command('inputs.move', rest, async (state, now, read) => {
        if (before === null) return moveInput(state, null, now)
        const other = await resolveInput(read, before)
        return other.ok ? moveInput(state, other.value, now) : other
      }),

    steer: (rest) =>
      command('inputs.steer', rest, (state, now) =>
        steerQueued(state, fleet.capabilities(state.facts.session.runtime), now, ports.ids),
      ),
  }
}
