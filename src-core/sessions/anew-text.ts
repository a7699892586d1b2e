import { shortened } from '../../src-shared/shortened.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { HAND_OVER } from '../decide/hand-over.ts'
import type { SessionFacts } from '../decide/session-draft.ts'
import type { Storage } from '../storage/port.ts'
import type { QuestionRow } from '../storage/rows.ts'
import { ticketText } from './prompt.ts'

/** In UTF-16 code units: of the whole summary, and of one entry of it. */
const SUMMARY = 24_000
const ENTRY = 1_200

/** The newest events that a summary is made of. */
const EVENTS = 2_000

const beginnings = {
  lost: {
    who: 'You',
    intro: `${HAND_OVER} was begun in a conversation which is lost. What was done is in your clone: look at its commits and at what is uncommitted first.`,
  },
  continued: {
    who: 'The agent before you',
    intro: `${HAND_OVER} another coding agent began in this very clone; you have its work, and not its conversation. Look at its commits and at what is uncommitted first, and go on from there.`,
  },
} as const

/** The first message of a new conversation that goes on with the work of an earlier one. */
export async function anewText(
  storage: Storage,
  { session, ticket }: SessionFacts,
  why: keyof typeof beginnings,
): Promise<string> {
  const { intro, who } = beginnings[why]
  const [{ events }, questions] = await Promise.all([
    storage.timeline(session.id, { limit: EVENTS }),
    storage.rows({ table: 'question', where: { sessionId: session.id } }),
  ])
  const parts = [
    intro,
    `# The ticket\n\n${ticketText(ticket)}`,
    summaryOf(
      events.filter((event) => !isSaidAbove(event, ticketText(ticket))),
      who,
    ),
    openTodos(events),
    questionsOf(questions),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** What was said and done, the oldest first; where it is too long, the newest of it. */
function summaryOf(events: readonly TimelineEvent[], who: string): string {
  const lines: string[] = []
  let left = SUMMARY
  for (const event of [...events].reverse()) {
    const line = lineOf(event, who)
    if (line === null) continue
    left -= line.length + 1
    if (left < 0) {
      lines.push('[What was before is left out.]')
      break
    }
    lines.push(line)
  }
  if (lines.length === 0) return ''
  return `# What happened so far\n\n${lines.reverse().join('\n')}`
}

/** The ticket, and what an earlier conversation was told at its beginning: its own summary is made anew. */
function isSaidAbove(event: TimelineEvent, ticket: string): boolean {
  if (event.kind !== 'input.delivered') return false
  const { text, author } = event
  if (author !== 'ballet') return text === ticket
  return Object.values(beginnings).some(({ intro }) => text.startsWith(intro))
}

function lineOf(event: TimelineEvent, who: string): string | null {
  // What subagents did is in what they came back with.
  if ('parent' in event && event.parent !== undefined) return null
  switch (event.kind) {
    case 'input.delivered':
      return `- ${event.author === 'person' ? 'The person' : 'Ballet'}: ${short(event.text)}`
    case 'assistant.text':
      return `- ${who}: ${short(event.text)}`
    case 'tool.call':
      return `- ${who} used ${event.name}: ${short(event.title)}`
    case 'assumption':
      return `- ${who} assumed: ${short(event.assumption)}`
    case 'stage.completed':
      return `- ${who} completed the stage (${event.outcome}): ${short(event.summary)}`
    default:
      return null
  }
}

/** What the newest list of steps has that is not done. */
function openTodos(events: readonly TimelineEvent[]): string {
  const newest = events.flatMap((event) =>
    event.kind === 'todo' && event.parent === undefined ? [event] : [],
  )
  const open = newest.at(-1)?.items.filter(({ status }) => status !== 'done') ?? []
  if (open.length === 0) return ''
  return `# What was still to be done\n\n${open.map(({ text }) => `- ${short(text)}`).join('\n')}`
}

function questionsOf(questions: readonly QuestionRow[]): string {
  if (questions.length === 0) return ''
  const lines = questions.map(({ key, question, answer, withdrawn }) => {
    const said =
      answer !== null ? `Answer: ${answer.text}` : (withdrawn ?? 'It is not answered yet.')
    return `- ${key}: ${short(question)}\n  ${short(said)}`
  })
  return `# What was asked\n\n${lines.join('\n')}`
}

const short = (text: string): string => shortened(text.trim(), ENTRY)
