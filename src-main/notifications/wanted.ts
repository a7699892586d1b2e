import type { Question } from '../../src-shared/questions.ts'
import type { NotificationKind, Request, Session } from '../../src-shared/records.ts'
import { allowName, denyName, optionName } from './action.ts'
import type { Followed } from './followed.ts'
import type { Askable, Notice } from './notice.ts'
import { plainText } from './text.ts'

const TITLE_LENGTH = 80
const BODY_LENGTH = 300
const LABEL_LENGTH = 40
const MOST_BUTTONS = 3

/** What wants a notification; the notice is made when it is asked for, since most never are. */
export type Thing = Pick<Notice, 'session' | 'waits'> & { notice(): Notice }

/**
 * Every thing that may have a notification, by its key; null where it is to have none now: it is answered, the planner
 * has it, or its kind is switched off.
 */
export type Things = ReadonlyMap<string, Thing | null>

export function thingsOf(followed: Followed): Things {
  const things = new Map<string, Thing | null>()
  const isOn = (kind: NotificationKind, session: Session | undefined): session is Session =>
    session !== undefined &&
    (followed.settings?.notify.includes(kind) ?? false) &&
    (followed.projects.get(session.projectId)?.notify.includes(kind) ?? false)

  for (const question of followed.questions.values()) {
    const session = followed.sessions.get(question.session)
    const waits = question.state === 'open' && question.heldBy === 'person'
    const wanted = waits && isOn('question', session)
    const thing = {
      session: question.session,
      waits: true,
      notice: () => noticeOfQuestion(question),
    }
    things.set(questionKey(question.id), wanted ? thing : null)
  }
  for (const request of followed.requests.values()) {
    const session = followed.sessions.get(request.session)
    const wanted = request.state === 'open' && isOn('request', session)
    const thing = { session: request.session, waits: true, notice: () => noticeOfRequest(request) }
    things.set(requestKey(request.id), wanted ? thing : null)
  }
  for (const session of followed.sessions.values()) {
    const end = endOf(session)
    if (end === undefined) continue
    const key = `ended ${session.id} ${end.mark}`
    const thing = {
      session: session.id,
      waits: false,
      notice: () => noticeOfEnd(session, end, key),
    }
    things.set(key, isOn('ended', session) ? thing : null)
  }
  return things
}

const questionKey = (id: string): string => `question ${id}`
const requestKey = (id: string): string => `request ${id}`

/** The keys of what a person is asked by that id. */
export const keysOf = (id: Askable): readonly string[] => [questionKey(id), requestKey(id)]

function noticeOfQuestion(question: Question): Notice {
  const { id, key, options, multiple, urgency } = question
  const text = plainText(question.question, BODY_LENGTH)
  const labels = options.map(({ label, recommended }) => {
    const shown = plainText(label, LABEL_LENGTH)
    return { ...shown, text: recommended ? `${shown.text} (recommended)` : shown.text }
  })
  // All of them or none: a choice of some would steer the answer, and so would a label that cannot be read whole.
  const fit = labels.length <= MOST_BUTTONS && labels.every(({ whole }) => whole)
  const listed = labels.map((label, at) => `${at + 1}. ${label.text}`).join(' · ')
  return {
    key: questionKey(id),
    kind: 'question',
    session: question.session,
    asks: id,
    title: plainText(`${key} asks · ${question.project}`, TITLE_LENGTH).text,
    body: fit || listed === '' ? text.text : plainText(`${text.text} ${listed}`, BODY_LENGTH).text,
    buttons:
      fit && text.whole && !multiple
        ? labels.map((label, at) => ({ name: optionName(id, at + 1), label: label.text }))
        : [],
    reply: text.whole,
    urgency: urgency === 'low' ? 'low' : 'normal',
    waits: true,
  }
}

function noticeOfRequest(request: Request): Notice {
  const { id, name, title, session, ticket, project } = request
  const shown = plainText(title, BODY_LENGTH)
  return {
    key: requestKey(id),
    kind: 'request',
    session,
    asks: id,
    title: plainText(`${ticket} asks to use ${name} · ${project}`, TITLE_LENGTH).text,
    body: shown.text,
    buttons: [
      ...(shown.text === title && saysItAll(request)
        ? [{ name: allowName(id), label: 'Allow once' }]
        : []),
      { name: denyName(id), label: 'Deny' },
    ],
    reply: false,
    urgency: 'normal',
    waits: true,
  }
}

/** Tools that do nothing but what their title says, which is then one of their arguments, uncut. */
const PLAIN_KINDS: ReadonlySet<Request['toolKind']> = new Set([
  'execute',
  'read',
  'search',
  'fetch',
])

/** Whether who reads the title knows what would be done; the content of an edit, say, is not in it. */
function saysItAll({ toolKind, title, input, inputBlob }: Request): boolean {
  if (!PLAIN_KINDS.has(toolKind) || inputBlob !== null) return false
  try {
    const given: unknown = JSON.parse(input)
    return typeof given === 'object' && given !== null && Object.values(given).includes(title)
  } catch {
    return false
  }
}

/** Going from one of these to another makes no new end. */
const BETWEEN_TURNS: ReadonlySet<Session['state']> = new Set([
  'waiting',
  'parking',
  'parked',
  'resuming',
])

type End = { mark: string; word: string; text: string }

/** How a session's work ended, so that a person should know; `mark` differs for each end of a session. */
function endOf(session: Session): End | undefined {
  const { state, stateSince, outcome, turn, reason, hint, turnStartedAt } = session
  if (state === 'finished') return { mark: 'finished', word: 'is finished', text: '' }
  if (state === 'failed') {
    return { mark: `failed ${stateSince}`, word: 'failed', text: `${reason} ${hint}` }
  }
  if (turnStartedAt !== null || !BETWEEN_TURNS.has(state)) return undefined
  if (outcome === 'needs_review') {
    return { mark: `review ${turn}`, word: 'wants a review', text: '' }
  }
  if (outcome === 'failed') return { mark: `gave up ${turn}`, word: 'gave up', text: reason }
  return undefined
}

function noticeOfEnd(session: Session, { word, text }: End, key: string): Notice {
  const said = plainText(text, BODY_LENGTH).text
  return {
    key,
    kind: 'ended',
    session: session.id,
    asks: null,
    title: plainText(`${session.ticket} ${word} · ${session.project}`, TITLE_LENGTH).text,
    body: plainText(said === '' ? session.title : `${session.title}: ${said}`, BODY_LENGTH).text,
    buttons: [],
    reply: false,
    urgency: 'normal',
    waits: false,
  }
}
