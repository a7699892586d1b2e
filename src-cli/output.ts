import type { Assumption, Question } from '../src-shared/questions.ts'
import type { Agent, Input, Project, Request, Session, Ticket } from '../src-shared/records.ts'
import { parkingFields } from './parking-fields.ts'
import { plainText } from './plain-text.ts'
import { questionFields } from './question-fields.ts'
import { stageFields } from './stages.ts'
import { type Column, fields, table } from './table.ts'
import { progressText } from './timeline-questions.ts'
import type { Terminal, World } from './world.ts'

type Shown = {
  project: Project
  ticket: Ticket
  session: Session
  input: Input
  request: Request
  question: Question
  assumption: Assumption
  agent: Agent
}
export type RecordKind = keyof Shown

export type Printer = {
  /** A line for people; nothing in JSON. */
  say(text: string): void
  /** What a command made, or one thing that was asked for in passing. */
  made<K extends RecordKind>(kind: K, record: Shown[K], sentence: string): void
  one<K extends RecordKind>(kind: K, record: Shown[K]): void
  list<K extends RecordKind>(kind: K, records: readonly Shown[K][], whenEmpty: string): void
  json(value: unknown): void
  readonly isJson: boolean
}

export function createPrinter(world: Pick<World, 'stdout'>, isJson: boolean): Printer {
  const { stdout } = world
  const json = (value: unknown) => stdout.write(`${JSON.stringify(value)}\n`)
  const lines = (texts: readonly string[]) => {
    if (texts.length > 0) stdout.write(`${texts.join('\n')}\n`)
  }
  return {
    isJson,
    json,
    say: (text) => {
      if (!isJson) lines([text])
    },
    made: (_kind, record, sentence) => {
      if (isJson) json(record)
      else lines([sentence])
    },
    one: (kind, record) => {
      if (isJson) json(record)
      else lines(fields(describe[kind](record)))
    },
    list: (kind, records, whenEmpty) => {
      if (isJson) for (const record of records) json(record)
      else if (records.length === 0) lines([whenEmpty])
      else lines(table(columns[kind], records, stdout.columns))
    },
  }
}

/** A refusal as people read it: what and why, then what to do. */
export function complain(
  stderr: Terminal,
  isJson: boolean,
  refusal: { code: string; message: string; hint?: string | undefined },
): void {
  if (isJson) {
    const { code, message, hint } = refusal
    stderr.write(`${JSON.stringify({ error: { code, message, ...(hint ? { hint } : {}) } })}\n`)
    return
  }
  stderr.write(`ballet: ${plainText(refusal.message)}\n`)
  if (refusal.hint) stderr.write(`${plainText(refusal.hint)}\n`)
}

const columns: { [K in RecordKind]: readonly Column<Shown[K]>[] } = {
  project: [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'KEY', cell: ({ key }) => key },
    { head: 'NAME', cell: ({ name }) => name },
    { head: 'BRANCH', cell: ({ branch }) => branch },
    { head: 'RUNTIME', cell: ({ runtime }) => runtime },
    { head: 'PERMISSION', cell: ({ permission }) => permission },
    { head: 'WINDOW', cell: ({ window }) => window },
    { head: 'REPOSITORY', cell: ({ repo }) => repo },
  ],
  ticket: [
    { head: 'KEY', cell: ({ key }) => key },
    { head: 'STATUS', cell: ({ status }) => status },
    { head: 'PRIORITY', cell: ({ priority }) => String(priority), right: true },
    { head: 'STAGE', cell: ({ stage }) => stage },
    { head: 'PROJECT', cell: ({ project }) => project },
    { head: 'ID', cell: ({ id }) => id },
    { head: 'TITLE', cell: ({ title }) => title },
  ],
  session: [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'TICKET', cell: ({ ticket }) => ticket },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'AGENT', cell: ({ agent }) => agent ?? '' },
    { head: 'QUEUED', cell: ({ queuedInputs }) => String(queuedInputs), right: true },
    { head: 'COST', cell: ({ costUsd }) => dollars(costUsd), right: true },
    {
      head: 'TITLE',
      cell: ({ title, reason }) => (reason === '' ? title : `${title} (${reason})`),
    },
  ],
  input: [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'KIND', cell: ({ inputKind }) => inputKind },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'AT', cell: ({ createdAt }) => createdAt },
    { head: 'TEXT', cell: ({ text }) => text },
  ],
  request: [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'TICKET', cell: ({ ticket }) => ticket },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'AT', cell: ({ createdAt }) => createdAt },
    { head: 'TOOL', cell: ({ name }) => name },
    { head: 'WHAT', cell: ({ title }) => title },
  ],
  question: [
    { head: 'KEY', cell: ({ key }) => key },
    {
      head: 'STATE',
      cell: ({ state, heldBy }) => (state === 'open' && heldBy === 'planner' ? 'planner' : state),
    },
    { head: 'URGENCY', cell: ({ urgency }) => urgency },
    { head: 'BY', cell: ({ answer }) => answer?.author ?? '' },
    { head: 'AT', cell: ({ createdAt }) => createdAt },
    {
      head: 'QUESTION',
      cell: ({ question, answer }) => (answer === null ? question : `${question} → ${answer.text}`),
    },
  ],
  assumption: [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'TICKET', cell: ({ ticket }) => ticket },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'AT', cell: ({ createdAt }) => createdAt },
    {
      head: 'ASSUMPTION',
      cell: ({ assumption, reason }) => `${assumption} (${reason})`,
    },
  ],
  agent: [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'TICKET', cell: ({ ticket }) => ticket ?? '' },
    { head: 'SESSION', cell: ({ session }) => session ?? '' },
    { head: 'PID', cell: ({ pid }) => (pid === null ? '' : String(pid)), right: true },
    { head: 'MEMORY', cell: (agent) => mebibytes(totalMemory(agent)), right: true },
    { head: 'CPU', cell: ({ cpuPercent }) => percent(cpuPercent), right: true },
    { head: 'RESTARTS', cell: ({ restarts }) => String(restarts), right: true },
    { head: 'REASON', cell: ({ reason }) => reason },
  ],
}

const describe: { [K in RecordKind]: (record: Shown[K]) => (readonly [string, string])[] } = {
  project: (project) => [
    ['id', project.id],
    ['key', project.key],
    ['name', plainText(project.name)],
    ['repository', plainText(project.repo)],
    ['branch', plainText(project.branch)],
    ['runtime', project.runtime],
    ['model', plainText(project.model ?? '')],
    ['permission', project.permission],
    ['set-up', plainText(project.setup ?? '')],
    ['set-up limit', project.setup === undefined ? '' : project.setupLimit],
    ['environment', project.envNames.join(', ')],
    ['window', project.window],
    ['arguments', plainText(project.runtimeArgs.join(' '))],
    ...stageFields(project.stages),
    ['sources', plainText(project.sources.join(', '))],
    ['planner', project.planner ? 'on' : 'off'],
    ['notifications', project.notify.join(', ') || 'none'],
    ['sessions at once', project.maxSessions === undefined ? '' : String(project.maxSessions)],
    ['created', project.createdAt],
    ['skill', project.skill === undefined ? '' : `\n\n${plainText(project.skill)}`],
  ],
  ticket: (ticket) => [
    ['key', ticket.key],
    ['id', ticket.id],
    ['project', plainText(ticket.project)],
    ['title', plainText(ticket.title)],
    ['status', ticket.status],
    ['stage', ticket.stage],
    ['priority', String(ticket.priority)],
    ['created', ticket.createdAt],
    ['updated', ticket.updatedAt],
    ['body', ticket.body === '' ? '' : `\n\n${plainText(ticket.body)}`],
  ],
  session: (session) => [
    ['id', session.id],
    ['ticket', `${session.ticket} ${plainText(session.title)}`],
    ['project', plainText(session.project)],
    ['stage', session.stage],
    ['state', session.state],
    ['reason', plainText(session.reason)],
    ['next', plainText(session.hint)],
    ['progress', session.progress === null ? '' : progressText(session.progress)],
    ['outcome', session.outcome ?? ''],
    ['open questions', session.openQuestions === 0 ? '' : String(session.openQuestions)],
    ['agent', session.agent ?? ''],
    ['runtime', [session.runtime, session.runtimeVersion ?? ''].join(' ').trim()],
    ['model', plainText(session.model ?? '')],
    ['permission', session.permission],
    ['conversation', session.conversation ?? ''],
    ['branch', session.branch],
    ['workspace', session.workspace ?? ''],
    ...parkingFields(session),
    ['turns', String(session.turn)],
    ['queued inputs', String(session.queuedInputs)],
    ['events', String(session.lastSeq)],
    ['cost', dollars(session.costUsd)],
    ['created', session.createdAt],
    ['updated', session.updatedAt],
  ],
  input: (input) => [
    ['id', input.id],
    ['session', input.session],
    ['kind', input.inputKind],
    ['state', input.state],
    ['created', input.createdAt],
    ['text', plainText(input.text)],
  ],
  request: (request) => [
    ['id', request.id],
    ['ticket', request.ticket],
    ['session', request.session],
    ['state', request.state],
    ['by', request.author ?? ''],
    ['reason', plainText(request.text ?? '')],
    ['tool', plainText(request.name)],
    ['what', plainText(request.title)],
    ['for the session', plainText(request.sessionRules.join(', '))],
    ['asked', request.createdAt],
    ['answered', request.answeredAt ?? ''],
    ['input', plainText(request.input)],
  ],
  question: questionFields,
  assumption: (assumption) => [
    ['id', assumption.id],
    ['ticket', assumption.ticket],
    ['session', assumption.session],
    ['state', assumption.state],
    ['assumption', plainText(assumption.assumption)],
    ['reason', plainText(assumption.reason)],
    ['alternatives', plainText(assumption.alternatives.join('; '))],
    ['undone by', plainText(assumption.reversibleBy ?? '')],
    ['correction', plainText(assumption.text ?? '')],
    ['recorded', assumption.createdAt],
    ['looked over', assumption.reviewedAt ?? ''],
  ],
  agent: (agent) => [
    ['id', agent.id],
    ['state', agent.state],
    ['session', agent.session ?? ''],
    ['pid', agent.pid === null ? '' : String(agent.pid)],
    ['reason', plainText(agent.reason)],
  ],
}

export function dollars(usd: number): string {
  return `$${usd.toFixed(usd !== 0 && usd < 0.01 ? 4 : 2)}`
}

function totalMemory({ memoryBytes, runtimeMemoryBytes }: Agent): number | null {
  return memoryBytes === null ? null : memoryBytes + (runtimeMemoryBytes ?? 0)
}

function mebibytes(bytes: number | null): string {
  return bytes === null ? '' : `${Math.round(bytes / 2 ** 20)} MiB`
}

function percent(value: number | null): string {
  return value === null ? '' : `${Math.round(value)} %`
}
