import type { Agent } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Client } from '../../sync/client.ts'
import { isDrained } from '../../ui/state-dot.tsx'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'

/** Drains one agent, or all of them; what comes back is why it could not be begun. */
export async function drain(
  client: Client,
  how: 'gently' | 'now' | 'cancel',
  agent?: Agent['id'],
): Promise<Refusal | null> {
  const outcome = await attempt(() =>
    client.agents.drain({
      how,
      commandId: newCommand(),
      ...(agent === undefined ? {} : { agent }),
    }),
  )
  return outcome.ok ? null : outcome.refusal
}

/** Its session is being parked, or will be; or it is gone already. */
export const leaves = (agent: Pick<Agent, 'state' | 'reason'>): boolean =>
  agent.state === 'draining' || isDrained(agent)
