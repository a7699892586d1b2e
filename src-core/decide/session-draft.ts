import type { BlobText, Delivery, ToAgent } from '../../src-shared/agent-wire.ts'
import { DeliveryId, type InputId, type Instant, type LeaseId } from '../../src-shared/ids.ts'
import type { InputImage, SessionState, TicketStatus } from '../../src-shared/records.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import type { Ids } from '../ports.ts'
import type { DomainEvent, OutboxEntry, RowPut } from '../storage/port.ts'
import type {
  AssumptionRow,
  InputRow,
  LeaseRow,
  QuestionRow,
  RequestRow,
  SessionRow,
  TicketRow,
} from '../storage/rows.ts'
import { type Change, changeOf, type ParkOrder, type Tell } from './change.ts'
import { mergedDelivery } from './delivery.ts'
import { type InlineText, inlineText } from './large-text.ts'
import { deadlineOf, NO_DEADLINE } from './online-window.ts'
import { canMove } from './session-states.ts'
import { standingReason } from './standing-reason.ts'

/** What every decision about a session is made on. */
export type SessionFacts = {
  session: SessionRow
  /** Number of the session's last event. */
  lastSeq: number
  ticket: TicketRow
  /** The online window of its project. */
  window: string
  /** Those that are queued or sent, in the order of their positions. */
  inputs: readonly InputRow[]
  /** Those of which something may still come, oldest first. */
  requests: readonly RequestRow[]
  /** Those that are open, or whose answer is not in an input yet; oldest first. */
  questions: readonly QuestionRow[]
}

/** Something still comes of it: nobody answered, or the answer is in no input yet. */
export const isUnsettled = ({ state, inputId }: Pick<QuestionRow, 'state' | 'inputId'>) =>
  state !== 'withdrawn' && inputId === null

/** One session while a decision changes it; `change` is what came of it. */
export class SessionDraft {
  readonly #facts: SessionFacts
  readonly #now: Instant
  #session: SessionRow
  #ticket: TicketRow
  #inputs: InputRow[]
  readonly #changedInputs = new Map<string, InputRow>()
  #requests: RequestRow[]
  readonly #changedRequests = new Map<string, RequestRow>()
  #questions: QuestionRow[]
  readonly #changedQuestions = new Map<string, QuestionRow>()
  readonly #assumptions = new Map<string, AssumptionRow>()
  readonly #leases: LeaseRow[] = []
  readonly #events: { at: Instant; body: EventBody }[] = []
  readonly #blobs = new Map<string, BlobText>()
  readonly #domain: DomainEvent[] = []
  readonly #tell: Tell[] = []
  readonly #texts = new Map<string, InlineText>()
  readonly #outbox: OutboxEntry[] = []
  /** A person did something: the wait that there may be is a new one. */
  #waitsAnew = false

  constructor(facts: SessionFacts, now: Instant) {
    this.#facts = facts
    this.#now = now
    this.#session = facts.session
    this.#ticket = facts.ticket
    this.#inputs = [...facts.inputs]
    this.#requests = [...facts.requests]
    this.#questions = [...facts.questions]
  }

  get session(): SessionRow {
    return this.#session
  }

  get ticket(): TicketRow {
    return this.#ticket
  }

  /** The moment of the decision. */
  get now(): Instant {
    return this.#now
  }

  /** Queued and sent ones, as they are by now. */
  get inputs(): readonly InputRow[] {
    return this.#inputs
  }

  get queued(): readonly InputRow[] {
    return this.#inputs.filter((input) => input.state === 'queued')
  }

  get sent(): readonly InputRow[] {
    return this.#inputs.filter((input) => input.state === 'sent')
  }

  /** Those of which something may still come, as they are by now. */
  get requests(): readonly RequestRow[] {
    return this.#requests
  }

  get openRequests(): readonly RequestRow[] {
    return this.#requests.filter((request) => request.state === 'open')
  }

  /** Those that are open, or whose answer is not in an input yet, as they are by now. */
  get questions(): readonly QuestionRow[] {
    return this.#questions
  }

  get openQuestions(): readonly QuestionRow[] {
    return this.#questions.filter((question) => question.state === 'open')
  }

  /** Number that the next event will get. */
  get nextSeq(): number {
    return this.#facts.lastSeq + this.#events.length + 1
  }

  set(fields: Partial<SessionRow>): void {
    this.#session = { ...this.#session, ...fields, updatedAt: this.#now }
  }

  /** Marks the session as changed, so that who follows the records sees its counts anew. */
  touch(): void {
    this.set({})
  }

  event(body: EventBody, at: Instant = this.#now): void {
    this.#events.push({ at, body })
  }

  blob(blob: BlobText | null): void {
    if (blob !== null) this.#blobs.set(blob.id, blob)
  }

  /** Goes to another state; a transition that the table does not have is a defect of the caller. */
  move(to: SessionState, reason = '', hint = ''): void {
    const from = this.#session.state
    if (from === to) {
      this.set({ reason, hint })
      return
    }
    if (!canMove(from, to)) {
      throw new Error(`A session cannot go from ${from} to ${to}.`)
    }
    this.set({ state: to, stateSince: this.#now, reason, hint })
    this.event({ kind: 'session.state', from, to, reason })
    if (to !== 'working' && from !== 'working') {
      this.domain({ kind: 'session.state', subject: this.#session.id, data: { from, to, reason } })
    }
  }

  domain(event: DomainEvent): void {
    this.#domain.push(event)
  }

  ticketStatus(status: TicketStatus): void {
    if (this.#ticket.status === status) return
    const { status: from, id } = this.#ticket
    this.#ticket = { ...this.#ticket, status, updatedAt: this.#now }
    this.domain({ kind: 'ticket.status', subject: id, data: { from, to: status } })
  }

  /** Adds an input at the end of the queue. */
  queue(
    input: Pick<InputRow, 'id' | 'sessionId' | 'inputKind' | 'text' | 'author'> &
      Partial<Pick<InputRow, 'images'>>,
  ): void {
    const row: InputRow = {
      images: [],
      ...input,
      state: 'queued',
      steer: false,
      // Later inputs are told by later events.
      position: this.nextSeq,
      delivery: null,
      createdAt: this.#now,
      updatedAt: this.#now,
    }
    this.#inputs.push(row)
    this.#changedInputs.set(row.id, row)
    this.#inputEvent(row)
    this.touch()
  }

  /** Adds an input before all that are queued. */
  queueFirst(input: Parameters<SessionDraft['queue']>[0]): void {
    const first = this.queued[0]?.position
    this.queue(input)
    const added = this.#inputs.at(-1)
    if (added === undefined || first === undefined) return
    this.#putInput(added, { position: first - 1 })
    this.#inputs.sort((a, b) => a.position - b.position)
  }

  /** An input's state becomes another one, told by the event of that name. */
  changeInput(
    input: InputRow,
    change: Pick<InputRow, 'state'> & Partial<Pick<InputRow, 'delivery' | 'steer'>>,
  ): InputRow {
    const row = this.#putInput(input, change)
    this.#inputEvent(row)
    this.touch()
    return row
  }

  /** A queued input gets another text, or another place; told once more as queued. */
  editInput(
    input: InputRow,
    change: { text: string } | { position: number; before: InputId | null },
  ): InputRow {
    if ('text' in change) {
      this.#texts.delete(input.id)
      const row = this.#putInput(input, change)
      this.#inputEvent(row, { change: 'edited' })
      return row
    }
    const { position, before } = change
    const row = this.#putInput(input, { position })
    this.#inputs.sort((a, b) => a.position - b.position)
    this.#inputEvent(row, { change: 'moved', before })
    return row
  }

  /** Another position in the same order. */
  place(input: InputRow, position: number): void {
    this.#putInput(input, { position })
  }

  /** What was handed over in the middle of a turn began the next one. */
  beganTurn(inputs: readonly InputId[]): void {
    for (const input of this.sent) {
      if (input.steer && inputs.includes(input.id)) this.#putInput(input, { steer: false })
    }
  }

  #putInput(input: InputRow, change: Partial<InputRow>): InputRow {
    const row: InputRow = { ...input, ...change, updatedAt: this.#now }
    this.#changedInputs.set(row.id, row)
    const open = row.state === 'queued' || row.state === 'sent'
    this.#inputs = this.#inputs.flatMap((each) =>
      each.id === row.id ? (open ? [row] : []) : [each],
    )
    return row
  }

  /** A new request, or one as it is from now on. */
  request(row: RequestRow): void {
    this.#changedRequests.set(row.id, row)
    const others = this.#requests.filter(({ id }) => id !== row.id)
    const isKnown = others.length < this.#requests.length
    if (row.phase === 'over') this.#requests = others
    else if (isKnown)
      this.#requests = this.#requests.map((each) => (each.id === row.id ? row : each))
    else this.#requests = [...others, row]
    this.touch()
  }

  /** A new question, or one as it is from now on. */
  question(row: QuestionRow): void {
    this.#changedQuestions.set(row.id, row)
    const before = this.#questions.find(({ id }) => id === row.id)
    const isKnown = before !== undefined
    if (before?.state === 'open' && row.state === 'answered') this.#waitsAnew = true
    if (!isUnsettled(row)) this.#questions = this.#questions.filter(({ id }) => id !== row.id)
    else if (isKnown) {
      this.#questions = this.#questions.map((each) => (each.id === row.id ? row : each))
    } else this.#questions = [...this.#questions, row]
    this.touch()
  }

  /** A question as this decision leaves it; undefined where it did not change it. */
  changedQuestion(id: string): QuestionRow | undefined {
    return this.#changedQuestions.get(id)
  }

  /** A new number for a question of the ticket. */
  nextQuestion(): number {
    const questions = this.#ticket.questions + 1
    this.#ticket = { ...this.#ticket, questions }
    return questions
  }

  assumption(row: AssumptionRow): void {
    this.#assumptions.set(row.id, row)
  }

  /**
   * Hands every queued input to the agent as one delivery, if the session waits for its next turn.
   * What was handed over and is not told of yet holds back what comes after it.
   */
  deliver(ids: Ids): void {
    const { state, leaseId, pending } = this.#session
    const queued = this.queued
    if (state !== 'waiting' || leaseId === null || queued.length === 0 || this.sent.length > 0)
      return
    if (pending !== null && pending !== 'interrupt') return
    const id = DeliveryId.parse(ids.uuid())
    const delivery = mergedDelivery(id, queued, this.#session)
    for (const input of queued) this.changeInput(input, { state: 'sent', delivery: id })
    this.move('working', ...standingReason(this.#session))
    this.set({ outcome: null })
    const images = queued.flatMap((input) => input.images)
    this.tell({ type: 'input.deliver', lease: leaseId, delivery }, images)
  }

  /** Hands one queued input over at once, for the turn that runs under the lease. */
  steer(input: InputRow, lease: LeaseId, ids: Ids): InputRow {
    const id = DeliveryId.parse(ids.uuid())
    const row = this.changeInput(input, { state: 'sent', delivery: id, steer: true })
    const delivery: Delivery = { id, inputs: [input.id], text: input.text, steer: true }
    this.set({ outcome: null })
    this.tell({ type: 'input.deliver', lease, delivery }, input.images)
    return row
  }

  /** To the agent that holds the session; nothing when none does. */
  tell(
    message: Exclude<Extract<ToAgent, { lease: string }>, { type: 'session.park' }> | ParkOrder,
    images: readonly InputImage[] = [],
  ): void {
    this.#tell.push({
      lease: message.lease,
      message,
      ...(images.length === 0 ? {} : { images: { session: this.#session.id, list: images } }),
    })
  }

  /** I/O that follows the change. */
  outbox(entry: OutboxEntry): void {
    this.#outbox.push(entry)
  }

  lease(row: LeaseRow): void {
    this.#leases.push(row)
  }

  change(): Change {
    this.#setDeadline()
    const puts: RowPut[] = []
    if (this.#ticket !== this.#facts.ticket) puts.push({ table: 'ticket', row: this.#ticket })
    if (this.#session !== this.#facts.session) puts.push({ table: 'session', row: this.#session })
    for (const row of this.#leases) puts.push({ table: 'lease', row })
    for (const row of this.#changedInputs.values()) puts.push({ table: 'input', row })
    for (const row of this.#changedRequests.values()) puts.push({ table: 'request', row })
    for (const row of this.#changedQuestions.values()) puts.push({ table: 'question', row })
    for (const row of this.#assumptions.values()) puts.push({ table: 'assumption', row })
    return changeOf({
      puts,
      timeline:
        this.#events.length === 0
          ? []
          : [
              {
                session: this.#session.id,
                events: this.#events,
                blobs: [...this.#blobs.values()],
              },
            ],
      domain: this.#domain,
      outbox: this.#outbox,
      tell: this.#tell,
    })
  }

  /** In the change in which a session comes to wait for a person it gets its deadline, and loses it in the one that ends that. */
  #setDeadline(): void {
    const { parkAt, parkFrom } = this.#session
    const before = this.#waitsAnew ? NO_DEADLINE : { parkAt, parkFrom }
    const next = deadlineOf(before, this, this.#facts.window, this.#now)
    if (next.parkAt !== parkAt || next.parkFrom !== parkFrom) this.set(next)
  }

  #inputEvent(
    row: InputRow,
    change: { change?: 'edited' | 'moved'; before?: InputId | null } = {},
  ): void {
    const cut = this.#texts.get(row.id) ?? inlineText(row.text)
    this.#texts.set(row.id, cut)
    this.blob(cut.blob)
    const fields = {
      input: row.id,
      inputKind: row.inputKind,
      text: cut.text,
      author: row.author,
      ...(cut.id === null ? {} : { textBlob: cut.id }),
      ...(row.images.length === 0 ? {} : { images: [...row.images] }),
    }
    if (row.state === 'queued') this.event({ kind: 'input.queued', ...fields, ...change })
    else if (row.steer && (row.state === 'sent' || row.state === 'delivered')) {
      this.event({ kind: `input.${row.state}`, ...fields, steer: true })
    } else this.event({ kind: `input.${row.state}`, ...fields })
  }
}
