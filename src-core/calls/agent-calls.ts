import { z } from 'zod'
import { Agent } from '../../src-shared/records.ts'
import { accept, refuse } from '../../src-shared/refusal.ts'
import { receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import type { CallContext } from './context.ts'

export function agentCalls({ fleet, draining, ports, committer }: CallContext): Calls['agents'] {
  return {
    list: async () => accept([...fleet.agents]),

    drain: async ({ agent, how, quits, commandId }) => {
      const receipt = receiptOf('agents.drain', commandId, z.array(Agent))
      const earlier = await committer.earlier(receipt)
      if (earlier !== undefined) return earlier
      const slots = fleet.slots.filter(({ id }) => agent === undefined || id === agent)
      if (slots.length === 0) {
        const ids = fleet.slots.map(({ id }) => id).join(', ')
        return refuse('agent.not-found', `There is no agent ${agent}.`, `The agents are: ${ids}.`)
      }
      const graceMs = how === 'gently' ? ports.settings.current.drainGraceSeconds * 1_000 : 0
      if (how === 'cancel') await draining.cancel(slots)
      else draining.drain(slots, { graceMs, fast: how === 'fast', quits })
      const answer = [...fleet.agents]
      if (receipt === undefined) return accept(answer)
      return committer.transact(async () => accept({ change: null, answer }), receipt)
    },
  }
}
