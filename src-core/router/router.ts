import { implement, ORPCError } from '@orpc/server'
import { contract } from '../../src-shared/contract.ts'
import { BalletError, type Refusal } from '../../src-shared/refusal.ts'
import type { Call, Core } from '../core.ts'
import type { Log } from '../ports.ts'

/**
 * Inputs are decoded here. Answers are not decoded again: they are made of rows and events that were decoded
 * when they were stored, and a check of every event of every page would cost more than reading them.
 */
const implementer = implement(contract).$config({ initialOutputValidationIndex: Number.NaN })

const refused = (data: Refusal) =>
  new ORPCError('REFUSED', { defined: true, message: data.message, data })

/** The contract carried out by a Core. Every refusal and failure is the one error `REFUSED`. */
export function createRouter(core: Core, log: Log) {
  const answer =
    <I, O>(name: string, call: Call<I, O>) =>
    async ({ input, signal }: { input: I; signal?: AbortSignal | undefined }): Promise<O> => {
      let result: Awaited<ReturnType<typeof call>>
      try {
        result = await call(input, signal)
      } catch (error) {
        if (error instanceof BalletError) throw refused(error.toRefusal())
        log.error(`${name} failed unexpectedly`, { error })
        throw refused({
          code: 'host.failed',
          message: `The host failed at ${name}.`,
          hint: 'Try again; the cause is in the log of the host, in the logs folder of the data folder.',
        })
      }
      if (!result.ok) throw refused(result.refusal)
      return result.value
    }

  const os = implementer
  const { host, projects, tickets, sessions, timeline, records, agents } = core.calls
  return os.router({
    host: {
      info: os.host.info.handler(answer('host.info', host.info)),
      doctor: os.host.doctor.handler(answer('host.doctor', host.doctor)),
      demo: os.host.demo.handler(answer('host.demo', host.demo)),
    },
    projects: {
      add: os.projects.add.handler(answer('projects.add', projects.add)),
      list: os.projects.list.handler(answer('projects.list', projects.list)),
      show: os.projects.show.handler(answer('projects.show', projects.show)),
      delete: os.projects.delete.handler(answer('projects.delete', projects.delete)),
    },
    tickets: {
      add: os.tickets.add.handler(answer('tickets.add', tickets.add)),
      list: os.tickets.list.handler(answer('tickets.list', tickets.list)),
      show: os.tickets.show.handler(answer('tickets.show', tickets.show)),
      start: os.tickets.start.handler(answer('tickets.start', tickets.start)),
      delete: os.tickets.delete.handler(answer('tickets.delete', tickets.delete)),
    },
    sessions: {
      list: os.sessions.list.handler(answer('sessions.list', sessions.list)),
      show: os.sessions.show.handler(answer('sessions.show', sessions.show)),
      send: os.sessions.send.handler(answer('sessions.send', sessions.send)),
      interrupt: os.sessions.interrupt.handler(answer('sessions.interrupt', sessions.interrupt)),
      stop: os.sessions.stop.handler(answer('sessions.stop', sessions.stop)),
      finish: os.sessions.finish.handler(answer('sessions.finish', sessions.finish)),
      inputs: os.sessions.inputs.handler(answer('sessions.inputs', sessions.inputs)),
    },
    timeline: {
      page: os.timeline.page.handler(answer('timeline.page', timeline.page)),
      follow: os.timeline.follow.handler(answer('timeline.follow', timeline.follow)),
      blob: os.timeline.blob.handler(answer('timeline.blob', timeline.blob)),
    },
    records: { follow: os.records.follow.handler(answer('records.follow', records.follow)) },
    agents: { list: os.agents.list.handler(answer('agents.list', agents.list)) },
  })
}

export type Router = ReturnType<typeof createRouter>
