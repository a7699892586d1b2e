import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { SessionFacts } from '../decide/session-draft.ts'
import type { Storage } from '../storage/port.ts'
import type { QuestionRow } from '../storage/rows.ts'
import { ticketText } from './prompt.ts'

/** In UTF-16 code units: of the whole summary, and of one entry of it. */
const SUMMARY = 24_000
const ENTRY = 1_200

/** The newest events that a summary is made of. */
const EVENTS = 2_000

/** The first message of a new conversation that goes on with the work of one that is gone. */
export async function anewText(
  storage: Storage,
  { session, ticket }: SessionFacts,
): Promise<string> {
  const [{ events }, questions] = await Promise.all([
    storage.timeline(session.id, { limit: EVENTS }),
    storage.rows({ table: 'question', where: { sessionId: session.id } }),
  ])
  const parts = [
    'You go on with work on a ticket that was begun in a conversation which is lost. What was done is in your clone: look at its commits and at what is uncommitted first.',
    `# The ticket\n\n${ticketText(ticket)}`,
    summaryOf(events),
    questionsOf(questions),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** What was said and done, the oldest first; where it is too long, the newest of it. */
function summaryOf(events: readonly TimelineEvent[]): string {
  const lines: string[] = []
  let left = SUMMARY
  for (const event of [...events].reverse()) {
    const line = lineOf(event)
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

function lineOf(event: TimelineEvent): string | null {
  // What subagents did is in what they came back with.
  if ('parent' in event && event.parent !== undefined) return null
  switch (event.kind) {
    case 'input.delivered':
      return `- ${event.author === 'person' ? 'The person' : 'Ballet'}: ${short(event.text)}`
    case 'assistant.text':
      return `- You: ${short(event.text)}`
    case 'tool.call':
      return `- You used ${event.name}: ${short(event.title)}`
    case 'assumption':
      return `- You assumed: ${short(event.assumption)}`
    case 'stage.completed':
      return `- You completed the stage (${event.outcome}): ${short(event.summary)}`
    default:
      return null
  }
}

function questionsOf(questions: readonly QuestionRow[]): string {
  if (questions.length === 0) return ''
  const lines = questions.map(({ key, question, answer, withdrawn }) => {
    const said =
      answer !== null ? `Answer: ${answer.text}` : (withdrawn ?? 'It is not answered yet.')
    return `- ${key}: ${short(question)}\n  ${short(said)}`
  })
  return `# What you asked\n\n${lines.join('\n')}`
}

function short(text: string): string {
  const plain = text.trim()
  return plain.length > ENTRY ? `${plain.slice(0, ENTRY - 1)}…` : plain
}
