import type { Session, SessionState } from '../../src-shared/records.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { ofKind, showEvents } from './watch.ts'

const LEGAL: Readonly<Record<SessionState, readonly SessionState[]>> = {
  queued: ['starting', 'parked', 'failed', 'cancelled', 'finished'],
  starting: [
    'waiting',
    'working',
    'resuming',
    'parked',
    'failed',
    'finished',
    'cancelled',
    'queued',
  ],
  waiting: ['working', 'resuming', 'parked', 'parking', 'failed', 'finished', 'cancelled'],
  working: ['waiting', 'resuming', 'parked', 'parking', 'failed', 'finished', 'cancelled'],
  parking: ['parked', 'waiting', 'working', 'resuming', 'failed', 'cancelled'],
  parked: ['resuming', 'finished', 'cancelled', 'moved'],
  resuming: ['waiting', 'working', 'parked', 'parking', 'failed', 'finished', 'cancelled'],
  failed: ['resuming', 'starting', 'queued', 'finished', 'parked', 'cancelled'],
  finished: [],
  cancelled: [],
  moved: ['parked'],
}

const INPUT_BEFORE: Readonly<Record<string, readonly (string | undefined)[]>> = {
  // Back to queued: the runtime certainly never got it.
  'input.queued': [undefined, 'input.sent'],
  'input.sent': ['input.queued'],
  'input.delivered': ['input.sent'],
  'input.cancelled': ['input.queued'],
  'input.unknown': ['input.sent'],
}

/**
 * Everything that is wrong with a session's whole timeline, as sentences; none when it is as the contract has it:
 * numbers without gap or doubling, each tool call with its one result, turns that begin and end, inputs,
 * requests and questions that live once, states that follow each other and tell the truth about the session.
 */
export function timelineFaults(events: readonly TimelineEvent[], session: Session): string[] {
  return [
    ...numberFaults(events, session),
    ...toolFaults(events, session),
    ...turnFaults(events, session),
    ...inputFaults(events, session),
    ...requestFaults(events, session),
    ...questionFaults(events, session),
    ...stateFaults(events, session),
    ...doubledRefs(events),
  ]
}

/** @throws Error with the faults and the timeline */
export function checkTimeline(events: readonly TimelineEvent[], session: Session): void {
  const faults = timelineFaults(events, session)
  if (faults.length === 0) return
  throw new Error(`The timeline is wrong:\n- ${faults.join('\n- ')}\n\n${showEvents(events)}`)
}

function numberFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults = events.flatMap((event, index) =>
    event.seq === index + 1 ? [] : [`number ${event.seq} stands at place ${index + 1}`],
  )
  const others = events.filter((event) => event.session !== session.id)
  if (others.length > 0) faults.push(`${others.length} events are of another session`)
  if (session.lastSeq !== events.length) {
    faults.push(`the session says ${session.lastSeq} events, there are ${events.length}`)
  }
  return faults
}

function toolFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults: string[] = []
  const open = new Set<string>()
  const known = new Set<string>()
  /** Ended without an answer when their turn was cut; a resume may find what became of them, once. */
  const lost = new Set<string>()
  for (const event of events) {
    if (event.kind === 'tool.call') {
      if (known.has(event.callId)) faults.push(`${event.callId} is called twice`)
      known.add(event.callId)
      open.add(event.callId)
    }
    if (event.kind === 'tool.result') {
      if (open.delete(event.callId)) {
        if (event.status === 'unknown') lost.add(event.callId)
      } else if (event.status === 'unknown' || !lost.delete(event.callId)) {
        faults.push(`${event.callId} has a result without an open call (${event.seq})`)
      }
    }
    if (event.kind === 'turn.ended' && open.size > 0) {
      faults.push(`turn ${event.turn} ended while ${[...open].join(', ')} was open`)
    }
  }
  if (session.state !== 'working' && open.size > 0) {
    faults.push(`${session.state} with open calls: ${[...open].join(', ')}`)
  }
  return faults
}

function turnFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults: string[] = []
  let turn = 0
  let isOpen = false
  /** The last turn was cut, and a resume looks for what the runtime wrote down of it. */
  let isRecovering = false
  let wasCut = false
  for (const event of events) {
    if (event.kind === 'turn.started') {
      if (isOpen) faults.push(`turn ${event.turn} started in turn ${turn}`)
      if (event.turn !== turn + 1) faults.push(`turn ${event.turn} follows turn ${turn}`)
      turn = event.turn ?? turn + 1
      isOpen = true
      wasCut = false
      isRecovering = false
    } else if (event.kind === 'turn.ended') {
      if (!isOpen || event.turn !== turn) faults.push(`turn ${event.turn} ended, not running`)
      isOpen = false
      wasCut = event.reason === 'killed'
    } else if (event.kind === 'resume.step') {
      isRecovering = wasCut
    } else if (event.kind === 'session.state') {
      isRecovering = false
    } else if (event.kind === 'tool.call' || event.kind === 'tool.result') {
      // What prepares a workspace belongs to no turn.
      if (event.turn === undefined && !isOpen && event.callId.startsWith('setup-')) continue
      faults.push(...placeFaults(event, turn, isOpen || isRecovering))
    } else if (event.kind === 'assistant.text' || event.kind === 'assistant.thinking') {
      faults.push(...placeFaults(event, turn, isOpen || isRecovering))
    }
  }
  if (isOpen !== (session.state === 'working')) {
    faults.push(`the session is ${session.state}, and a turn is ${isOpen ? '' : 'not '}open`)
  }
  if (session.turn !== turn) faults.push(`the session says turn ${session.turn}, not ${turn}`)
  return faults
}

function placeFaults(event: TimelineEvent, turn: number, isOpen: boolean): string[] {
  const name = `${event.kind} ${event.seq}`
  return [
    ...(isOpen ? [] : [`${name} stands outside of a turn`]),
    ...(event.turn === turn ? [] : [`${name} is of turn ${event.turn}`]),
  ]
}

function inputFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults: string[] = []
  const last = new Map<string, string>()
  const started = new Set<string>()
  const takenBack = new Set<string>()
  for (const event of events) {
    if (event.kind === 'turn.started') {
      for (const input of event.inputs) {
        // Only one that the runtime certainly lost is given to it again.
        if (started.has(input) && !takenBack.delete(input)) {
          faults.push(`input ${input} started two turns`)
        }
        started.add(input)
      }
    }
    if (event.kind === 'input.queued' && last.get(event.input) === 'input.sent') {
      takenBack.add(event.input)
    }
    if (!('input' in event) || !event.kind.startsWith('input.')) continue
    // Changed by a person where it waits.
    if (event.kind === 'input.queued' && event.change !== undefined) {
      if (last.get(event.input) === 'input.queued') continue
      faults.push(`input ${event.input} is ${event.change} and not queued (${event.seq})`)
    }
    const before = last.get(event.input)
    if (!INPUT_BEFORE[event.kind]?.includes(before)) {
      faults.push(`input ${event.input}: ${event.kind} after ${before ?? 'nothing'} (${event.seq})`)
    }
    last.set(event.input, event.kind)
  }
  for (const input of started) {
    const end = last.get(input)
    // What became of it is told by the next agent.
    if (end === 'input.sent' && session.agent === null) continue
    // The runtime certainly lost it: where it is parked, it waits for a person's word, or was taken out.
    if (takenBack.has(input) && end === 'input.cancelled') continue
    if (takenBack.has(input) && end === 'input.queued' && session.state === 'parked') continue
    if (end !== 'input.delivered' && end !== 'input.unknown') {
      faults.push(`input ${input} started a turn and is ${end ?? 'not in the timeline'}`)
    }
  }
  return faults
}

/** Each request is opened once and closed at most once; the session counts those that are open. */
function requestFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults: string[] = []
  const open = new Set<string>()
  const known = new Set<string>()
  for (const event of events) {
    if (event.kind === 'request.opened') {
      if (known.has(event.request)) faults.push(`request ${event.request} is opened twice`)
      known.add(event.request)
      open.add(event.request)
    }
    if (event.kind === 'request.closed' && !open.delete(event.request)) {
      faults.push(`request ${event.request} is closed and was not open (${event.seq})`)
    }
  }
  if (session.openRequests !== open.size) {
    faults.push(`the session says ${session.openRequests} open requests, there are ${open.size}`)
  }
  return faults
}

/**
 * Each question is asked once, planned at most once while it is open, and answered or withdrawn once; only an answer
 * of the planner is overturned. The session counts those that are open.
 */
function questionFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults: string[] = []
  const states = new Map<string, 'open' | 'planned' | 'by planner' | 'closed'>()
  for (const event of events) {
    if (!('question' in event)) continue
    const { question, key, kind, seq } = event
    const before = states.get(question)
    const isOpen = before === 'open' || before === 'planned'
    const isRight =
      kind === 'question.asked'
        ? before === undefined
        : kind === 'question.planned'
          ? before === 'open'
          : isOpen || (kind === 'question.answered' && event.overturns && before === 'by planner')
    if (!isRight) faults.push(`question ${key}: ${kind} after ${before ?? 'nothing'} (${seq})`)
    if (kind === 'question.asked') states.set(question, 'open')
    else if (kind === 'question.planned') states.set(question, 'planned')
    else {
      const isPlanners = kind === 'question.answered' && event.author === 'planner'
      states.set(question, isPlanners ? 'by planner' : 'closed')
    }
  }
  const open = [...states.values()].filter((state) => state === 'open' || state === 'planned')
  if (session.openQuestions !== open.length) {
    faults.push(
      `the session says ${session.openQuestions} open questions, there are ${open.length}`,
    )
  }
  return faults
}

function stateFaults(events: readonly TimelineEvent[], session: Session): string[] {
  const faults: string[] = []
  let state = null as SessionState | null
  for (const { from, to, seq } of ofKind(events, 'session.state')) {
    if (from !== state) faults.push(`state ${seq} leaves ${from}, the session was ${state}`)
    if (state !== null && state !== to && !LEGAL[state].includes(to)) {
      faults.push(`state ${seq} goes from ${state} to ${to}`)
    }
    state = to
  }
  if (state !== session.state) faults.push(`the session is ${session.state}, told is ${state}`)
  const holdsAgent = ['starting', 'waiting', 'working'].includes(session.state)
  // These are done by an agent, and wait for one before.
  const isEither = session.state === 'resuming' || session.state === 'parking'
  if (!isEither && holdsAgent !== (session.agent !== null)) {
    faults.push(`the session is ${session.state} with agent ${session.agent}`)
  }
  return faults
}

/** The runtime's own name of what happened stands in the timeline once. */
function doubledRefs(events: readonly TimelineEvent[]): string[] {
  const seen = new Set<string>()
  return events.flatMap((event) => {
    if (event.ref === undefined) return []
    const key = `${event.kind} ${event.ref}`
    if (seen.has(key)) return [`${key} stands twice (${event.seq})`]
    seen.add(key)
    return []
  })
}
