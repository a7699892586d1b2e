import type { AssumptionRow, ProjectRow, QuestionRow, TicketRow } from '../storage/rows.ts'

export type PromptFacts = {
  /** What the planner is told before everything else. */
  instructions: string
  project: Pick<ProjectRow, 'name' | 'sources'>
  ticket: Pick<TicketRow, 'key' | 'title' | 'body'>
  /** Answered ones of the project, oldest first. */
  answered: readonly Pick<QuestionRow, 'key' | 'question' | 'answer'>[]
  /** Those of the project that people looked over, oldest first. */
  reviewed: readonly Pick<AssumptionRow, 'assumption' | 'state' | 'text'>[]
  question: Pick<QuestionRow, 'question' | 'context' | 'options' | 'multiple'>
}

/** In UTF-16 code units; what is longer is cut and says so. */
const LIMITS = { body: 30_000, entry: 2_000, entries: 40_000 } as const

const cut = (text: string, most: number) =>
  text.length > most ? `${text.slice(0, most)} […cut]` : text

/** Everything that a run of the planner is given; the question stands last. */
export function plannerPrompt(facts: PromptFacts): string {
  const { instructions, project, ticket, answered, reviewed, question } = facts
  return [
    instructions.trim(),
    `# The ticket ${ticket.key} of ${project.name}: ${ticket.title}\n\n${cut(ticket.body.trim(), LIMITS.body) || 'It says no more.'}`,
    section('Earlier questions of the project, with their answers', answered.map(answeredEntry)),
    section('Assumptions that people looked over', reviewed.map(reviewedEntry)),
    section(
      'Sources',
      project.sources.map((source) => `- ${source}`),
    ),
    questionSection(question),
  ].join('\n\n')
}

function section(title: string, entries: readonly string[]): string {
  if (entries.length === 0) return `# ${title}\n\nNone.`
  const kept: string[] = []
  let room: number = LIMITS.entries
  // The newest say best what people want now.
  for (const entry of [...entries].reverse()) {
    room -= entry.length
    if (room < 0) break
    kept.unshift(entry)
  }
  return `# ${title}\n\n${kept.join('\n')}`
}

const author = { person: 'a person', planner: 'the planner', ballet: 'Ballet' } as const

function answeredEntry({ key, question, answer }: PromptFacts['answered'][number]): string {
  const who = author[answer?.author ?? 'ballet']
  return cut(`- ${key}: ${question}\n  Answer by ${who}: ${answer?.text ?? ''}`, LIMITS.entry)
}

function reviewedEntry({ assumption, state, text }: PromptFacts['reviewed'][number]): string {
  const correction = text === null ? '' : `\n  Correction: ${text}`
  return cut(`- ${state}: ${assumption}${correction}`, LIMITS.entry)
}

function questionSection({ question, context, options, multiple }: PromptFacts['question']) {
  const listed = options.map(
    ({ label, detail, recommended }, index) =>
      `${index + 1}. ${label}${recommended ? ' (the agent recommends it)' : ''}${detail === undefined ? '' : `: ${detail}`}`,
  )
  return [
    '# The question',
    ...(context === null ? [] : [`Context: ${context}`]),
    ...(listed.length === 0
      ? []
      : [
          `Options (${multiple ? 'several may be chosen' : 'one is chosen'}):\n${listed.join('\n')}`,
        ]),
    `Question: ${question}`,
  ].join('\n\n')
}
