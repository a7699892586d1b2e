import { Session } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import {
  type RuntimeCapabilities,
  type RuntimeName,
  titleOfRuntime,
} from '../../src-shared/runtimes.ts'
import { receiptOf } from '../commit/committer.ts'
import type { Calls } from '../core.ts'
import { continueWith } from '../decide/continue-with.ts'
import { checkRuntimeName } from '../decide/known-runtimes.ts'
import { runtimesProbe } from '../host/examine.ts'
import { RUNTIMES_PROBE_MS } from '../limits.ts'
import { anewText } from '../sessions/anew-text.ts'
import { type CallContext, gone, sessionAnswer } from './context.ts'
import { resolveSession } from './resolve.ts'
import { factsOf } from './session-command.ts'

/** Another runtime or model goes on with a session. */
export function continueCall(context: CallContext): Calls['sessions']['continueWith'] {
  const { committer, ports } = context
  return async ({ ref, commandId, ...command }) => {
    const receipt = receiptOf('sessions.continueWith', commandId, Session)
    const earlier = await committer.earlier(receipt)
    if (earlier !== undefined) return earlier
    const capabilities = drivable(context, command.runtime)
    if (!capabilities.ok) return capabilities
    const works = await checkWorks(context, ref, command.runtime)
    if (!works.ok) return works
    return committer.transact<Session>(async (read, now) => {
      const facts = await factsOf(context, read, ref)
      if (!facts.ok) return facts
      const project = await read.row('project', facts.value.session.projectId)
      if (project === undefined) return gone('project')
      const anew = await anewText(ports.storage, facts.value, 'continued')
      const decision = continueWith(
        {
          ...{ facts: facts.value, project, capabilities: capabilities.value, anew },
          title: titleOfRuntime(command.runtime, ports.settings.current.acpAgents),
        },
        command,
        now,
        ports.ids,
      )
      if (!decision.ok) return decision
      return sessionAnswer(context, decision.value.answer, decision.value.change)
    }, receipt)
  }
}

/** The conversation that was is given up for it, so it has to be there. Where nobody can look, it is tried. */
async function checkWorks(
  { committer, fleet, ports }: CallContext,
  ref: string,
  runtime: RuntimeName,
): Promise<Result<undefined>> {
  const session = await resolveSession(committer.cache, ref)
  if (!session.ok) return session
  const project = await committer.cache.row('project', session.value.projectId)
  const found = await fleet.ask(
    runtimesProbe(ports.settings.current, { runtime, env: { ...project?.env } }),
    RUNTIMES_PROBE_MS,
  )
  if (!found.ok) {
    ports.log.warn('whether a runtime is here is not known', { runtime, ...found.refusal })
    return accept(undefined)
  }
  const problem = found.value.runtimes.find((each) => each.runtime === runtime)?.problem ?? null
  return problem === null ? accept(undefined) : { ok: false, refusal: problem }
}

/** What a runtime can do; refused for one that nothing here drives. */
function drivable(
  { fleet, ports }: CallContext,
  runtime: RuntimeName,
): Result<RuntimeCapabilities> {
  const { acpAgents } = ports.settings.current
  const known = checkRuntimeName(runtime, acpAgents)
  if (!known.ok) return known
  const capabilities = fleet.capabilities(runtime)
  if (capabilities !== undefined) return accept(capabilities)
  if (fleet.runtimes.length === 0) {
    return refuse(
      'runtime.not-known',
      'Which runtimes can be driven is not known before the first agent is up.',
      'Try again in a moment.',
    )
  }
  return refuse(
    'runtime.no-driver',
    `This Ballet cannot drive ${titleOfRuntime(runtime, acpAgents)}.`,
    `It can drive ${fleet.runtimes.map((each) => each.runtime).join(', ')}.`,
  )
}
