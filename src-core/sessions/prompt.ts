import type { QuestionAnswer } from '../../src-shared/questions.ts'
import type { Author } from '../../src-shared/records.ts'
import { shortened } from '../../src-shared/shortened.ts'
import { stageOf } from '../decide/stages.ts'
import type {
  AssumptionRow,
  ProjectRow,
  QuestionRow,
  RequestRow,
  TicketRow,
} from '../storage/rows.ts'

const PLACE = `You work on one ticket for a person who watches this session in Ballet.
You are in a git clone of your own, on a branch of your own that nobody else writes. Do the ticket's work here.
You need not commit and must not push or switch branches: Ballet commits what is uncommitted and pushes the branch when the ticket is finished. Commit yourself where separate commits help the reader.`

const TOOLS = `The tools of the MCP server “ballet” are how you reach people: ask_question for a decision that is theirs, record_assumption for one that you took yourself, report_progress, and complete_stage when the work is done. What follows says when to use which.
End your turn when the work is done, or when you asked: say briefly what you did, what you checked, and what is open. The next message continues this conversation.`

const NO_TOOLS = `You have no tool to ask with. Decide yourself what is cheap to change later, and say in your last words what you assumed. Where a decision is the person's, ask it as the last words of your turn and end the turn.
End your turn when the work is done, or when you asked: say briefly what you did, what you checked, and what is open. The next message continues this conversation.`

type OwnWords = {
  project: Pick<ProjectRow, 'name' | 'skill' | 'stages'>
  stage: string
  /** The runtime takes Ballet's tools. */
  hasTools: boolean
}

/** Appended to the runtime's own system prompt: how to work here, Ballet's skill, the project's and the stage's words. */
export function sessionPrompt(skill: string, { project, stage, hasTools }: OwnWords): string {
  const ofStage = stageOf(project, stage).skill ?? null
  const own = [
    ...(project.skill === null ? [] : [`# What ${project.name} adds\n\n${project.skill.trim()}`]),
    ...(ofStage === null ? [] : [`# Your stage: ${stage}\n\n${ofStage.trim()}`]),
  ]
  const how = hasTools ? [`${PLACE}\n${TOOLS}`, skill.trim()] : [`${PLACE}\n${NO_TOOLS}`]
  return [...how, ...own].join('\n\n')
}

/** The first message of a ticket's session. */
export function ticketText({ title, body }: Pick<TicketRow, 'title' | 'body'>): string {
  return body.trim() === '' ? title : `${title}\n\n${body}`
}

/** To a session that was interrupted in order to end Ballet or its agent, when it runs again. */
export const GO_ON =
  'Your last turn was interrupted because Ballet ended; nobody wanted you to stop. Commands that were running have been ended. Check the state of the files, then go on where you were.'

/** What the first message after a cut turn begins with. */
export function cutPreface(reason: string): string {
  const cause = reason === '' ? '' : ` (${reason})`
  return `Your last turn was cut off before its end${cause}. Commands that were running have been ended, and their results may be missing. Check the state of the files before you go on.`
}

/**
 * What the runtime is told of an answer that came when the runtime which had asked was gone. `isCertain`: the call
 * was certainly not made.
 */
export function lateAnswer(
  { name, title, state, text }: Pick<RequestRow, 'name' | 'title' | 'state' | 'text'>,
  isCertain: boolean,
): string {
  const request = `Your request for ${name} (${title})`
  if (state === 'denied') {
    const reason = text === null ? '' : ` The reason: ${text}`
    return `${request} was denied.${reason}\nGo on without it.`
  }
  return isCertain
    ? `${request} was allowed; it has not run yet. Make exactly the same call again and go on.`
    : `${request} was allowed, but you were cut off before its result was known. Check whether it has run; make the call again only where it has not, and go on.`
}

const authors: Readonly<Record<Author, string>> = {
  person: 'a person',
  planner: 'the planner',
  ballet: 'Ballet',
}

/** How an answer reaches the session: the same form for every one. */
export function answerText(row: Pick<QuestionRow, 'key' | 'question' | 'answer'>): string {
  return `Answer to ${row.key}\n${answerLines(row)}`
}

function answerLines({ key, question, answer }: Pick<QuestionRow, 'key' | 'question' | 'answer'>) {
  if (answer === null) throw new Error(`The question ${key} has no answer.`)
  return [
    `Question: ${question}`,
    `Answer: ${answer.text}`,
    `Answered by: ${authors[answer.author]}`,
    ...sourceLines(answer),
  ].join('\n')
}

function sourceLines({ citations }: QuestionAnswer): string[] {
  const [first, ...others] = citations.map(
    ({ source, place, quote }) => `${source}, ${place}: “${quote}”`,
  )
  return first === undefined ? [] : [`Sources: ${first}`, ...others]
}

/** How a person's correction of the planner's answer reaches a session that has that answer. */
export function correctedAnswerText(
  row: Pick<QuestionRow, 'key' | 'question' | 'answer' | 'overturned'>,
): string {
  const before = row.overturned === null ? '' : `\nBefore: ${row.overturned.text}`
  return `Correction of the answer to ${row.key}: it replaces the one that you got. Change what you built on that.\n${answerLines(row)}${before}`
}

/** How a person's correction of an assumption reaches the session. */
export function correctedAssumptionText(
  { assumption }: Pick<AssumptionRow, 'assumption'>,
  text: string,
): string {
  return `Your assumption was overturned. Change what you built on it.\nAssumption: ${assumption}\nCorrection: ${text}\nCorrected by: a person`
}

/** In UTF-16 code units. */
const TITLE = 100

/** The ticket for a correction that comes when the session is over. */
export function correctionTicket(
  ticket: Pick<TicketRow, 'key' | 'title'>,
  { assumption, reason }: Pick<AssumptionRow, 'assumption' | 'reason'>,
  text: string,
): { title: string; body: string } {
  const [line = ''] = text.trim().split('\n')
  return {
    title: `Correct ${ticket.key}: ${shortened(line, TITLE)}`,
    body: `In ${ticket.key} (${ticket.title}) the agent decided something itself, and a person corrected it after the work was finished.\n\nAssumption: ${assumption}\nReason: ${reason}\nCorrection: ${text.trim()}`,
  }
}
