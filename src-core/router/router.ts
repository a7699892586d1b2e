import { type Router as ContractRouter, implement, ORPCError, ValidationError } from '@orpc/server'
import { type Contract, contract } from '../../src-shared/contract.ts'
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
export function createRouter(core: Core, log: Log): Router {
  const os = implementer.use(async ({ next, path }) => {
    try {
      return await next()
    } catch (error) {
      throw refusalOf(error, path.join('.'), log)
    }
  })
  const { host, projects, tickets, sessions, requests, inputs, settings } = core.calls
  const { timeline, records, agents } = core.calls
  const { questions, assumptions, inbox } = core.calls
  return os.router({
    host: {
      info: os.host.info.handler(answer(host.info)),
      doctor: os.host.doctor.handler(answer(host.doctor)),
      demo: os.host.demo.handler(answer(host.demo)),
      exportKey: os.host.exportKey.handler(answer(host.exportKey)),
      gc: os.host.gc.handler(answer(host.gc)),
    },
    projects: {
      add: os.projects.add.handler(answer(projects.add)),
      list: os.projects.list.handler(answer(projects.list)),
      show: os.projects.show.handler(answer(projects.show)),
      edit: os.projects.edit.handler(answer(projects.edit)),
      delete: os.projects.delete.handler(answer(projects.delete)),
    },
    tickets: {
      add: os.tickets.add.handler(answer(tickets.add)),
      list: os.tickets.list.handler(answer(tickets.list)),
      show: os.tickets.show.handler(answer(tickets.show)),
      edit: os.tickets.edit.handler(answer(tickets.edit)),
      start: os.tickets.start.handler(answer(tickets.start)),
      delete: os.tickets.delete.handler(answer(tickets.delete)),
    },
    sessions: {
      list: os.sessions.list.handler(answer(sessions.list)),
      show: os.sessions.show.handler(answer(sessions.show)),
      send: os.sessions.send.handler(answer(sessions.send)),
      interrupt: os.sessions.interrupt.handler(answer(sessions.interrupt)),
      stop: os.sessions.stop.handler(answer(sessions.stop)),
      finish: os.sessions.finish.handler(answer(sessions.finish)),
      continueWith: os.sessions.continueWith.handler(answer(sessions.continueWith)),
      park: os.sessions.park.handler(answer(sessions.park)),
      resume: os.sessions.resume.handler(answer(sessions.resume)),
      keep: os.sessions.keep.handler(answer(sessions.keep)),
      attend: os.sessions.attend.handler(answer(sessions.attend)),
      edit: os.sessions.edit.handler(answer(sessions.edit)),
      export: os.sessions.export.handler(answer(sessions.export)),
      import: os.sessions.import.handler(answer(sessions.import)),
      inputs: os.sessions.inputs.handler(answer(sessions.inputs)),
    },
    requests: {
      list: os.requests.list.handler(answer(requests.list)),
      show: os.requests.show.handler(answer(requests.show)),
      allow: os.requests.allow.handler(answer(requests.allow)),
      deny: os.requests.deny.handler(answer(requests.deny)),
    },
    questions: {
      list: os.questions.list.handler(answer(questions.list)),
      show: os.questions.show.handler(answer(questions.show)),
      answer: os.questions.answer.handler(answer(questions.answer)),
      decline: os.questions.decline.handler(answer(questions.decline)),
      undo: os.questions.undo.handler(answer(questions.undo)),
      sendNow: os.questions.sendNow.handler(answer(questions.sendNow)),
      overturn: os.questions.overturn.handler(answer(questions.overturn)),
    },
    assumptions: {
      list: os.assumptions.list.handler(answer(assumptions.list)),
      confirm: os.assumptions.confirm.handler(answer(assumptions.confirm)),
      overturn: os.assumptions.overturn.handler(answer(assumptions.overturn)),
    },
    inbox: { list: os.inbox.list.handler(answer(inbox.list)) },
    inputs: {
      show: os.inputs.show.handler(answer(inputs.show)),
      edit: os.inputs.edit.handler(answer(inputs.edit)),
      cancel: os.inputs.cancel.handler(answer(inputs.cancel)),
      move: os.inputs.move.handler(answer(inputs.move)),
      steer: os.inputs.steer.handler(answer(inputs.steer)),
    },
    settings: {
      show: os.settings.show.handler(answer(settings.show)),
      edit: os.settings.edit.handler(answer(settings.edit)),
    },
    timeline: {
      page: os.timeline.page.handler(answer(timeline.page)),
      follow: os.timeline.follow.handler(answer(timeline.follow)),
      blob: os.timeline.blob.handler(answer(timeline.blob)),
    },
    records: { follow: os.records.follow.handler(answer(records.follow)) },
    agents: {
      list: os.agents.list.handler(answer(agents.list)),
      drain: os.agents.drain.handler(answer(agents.drain)),
    },
  })
}

const answer =
  <I, O>(call: Call<I, O>) =>
  async ({ input, signal }: { input: I; signal?: AbortSignal | undefined }): Promise<O> => {
    const result = await call(input, signal)
    if (!result.ok) throw refused(result.refusal)
    return result.value
  }

function refusalOf(error: unknown, call: string, log: Log) {
  if (error instanceof ORPCError && error.code === 'REFUSED') return error
  if (error instanceof BalletError) return refused(error.toRefusal())
  if (error instanceof ORPCError && error.cause instanceof ValidationError) {
    return refused(invalidInput(error.cause, call))
  }
  log.error(`${call} failed unexpectedly`, { error })
  return refused({
    code: 'host.failed',
    message: `The host failed at ${call}.`,
    hint: 'Try again; the cause is in the log of the host, in the logs folder of the data folder.',
  })
}

function invalidInput(error: ValidationError, call: string): Refusal {
  const issues = error.issues.slice(0, 3).map(({ path = [], message }) => {
    const field = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return field === '' ? message : `${field}: ${message}`
  })
  return {
    code: 'input.invalid',
    message: `What ${call} was given does not fit: ${issues.join('; ')}.`,
    hint: 'Correct it and try again.',
  }
}

/** The contract as a client in this process is made of. */
export type Router = ContractRouter<Contract, Record<never, never>>
