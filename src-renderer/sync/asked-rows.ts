import { type Of, placeOf } from './row-makers.ts'
import type { Row } from './rows.ts'

/** What Ballet's own tools tell of a session: what an agent asked, assumed, reported and completed. */
type Told = Of<'question.asked' | 'assumption' | 'progress' | 'stage.completed'>

/** The tool of Ballet whose call an event tells all about. */
export const toolOf: Record<Told['kind'], string> = {
  'question.asked': 'ask_question',
  assumption: 'record_assumption',
  progress: 'report_progress',
  'stage.completed': 'complete_stage',
}

/** Runtimes put the server's name before a tool's, each in its own way. */
export const isCallOf = (row: Row, tool: string): boolean =>
  row.kind === 'tool' && row.toolKind === 'mcp' && new RegExp(`(?:^|[^a-z])${tool}$`).test(row.name)

export function toldRow(event: Told): Row {
  switch (event.kind) {
    case 'question.asked': {
      const place = placeOf(`question:${event.question}`, event)
      return {
        ...place,
        kind: 'question',
        asked: event,
        planned: null,
        answers: [],
        withdrawn: null,
      }
    }
    case 'assumption': {
      const place = placeOf(`assumption:${event.id}`, event)
      return { ...place, kind: 'assumption', recorded: event, reviewed: null }
    }
    case 'progress': {
      const { summary, done, total } = event
      return { ...placeOf(`seq:${event.seq}`, event), kind: 'progress', summary, done, total }
    }
    case 'stage.completed': {
      const { summary, textBlob, outcome } = event
      const place = placeOf(`seq:${event.seq}`, event)
      return { ...place, kind: 'completed', summary, textBlob, outcome }
    }
  }
}

/** What became of a question or of an assumption. */
type Fate = Of<
  'question.planned' | 'question.answered' | 'question.withdrawn' | 'assumption.reviewed'
>

/** The key of the row that an event goes on with. */
export const keyOfFate = (event: Fate): string =>
  event.kind === 'assumption.reviewed' ? `assumption:${event.id}` : `question:${event.question}`

export function withFate(row: Row, event: Fate): Row {
  if (event.kind === 'assumption.reviewed') {
    return row.kind === 'assumption' ? { ...row, reviewed: event } : row
  }
  if (row.kind !== 'question') return row
  switch (event.kind) {
    case 'question.planned':
      return { ...row, planned: event }
    case 'question.answered':
      return { ...row, answers: [...row.answers, event] }
    case 'question.withdrawn':
      return { ...row, withdrawn: event }
  }
}
