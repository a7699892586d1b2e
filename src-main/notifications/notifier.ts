import type { Clock, Log } from '../../src-core/index.ts'
import type { RecordFollow } from '../../src-shared/contract.ts'
import { type CommandId, QuestionId, type SessionId } from '../../src-shared/ids.ts'
import { BalletError, Refusal } from '../../src-shared/refusal.ts'
import { type Action, commandOf, readAction } from './action.ts'
import { BLANK, decide, lostAll, putAway } from './decide.ts'
import { afterFollow, type Followed, NOTHING } from './followed.ts'
import type { Askable, Notice } from './notice.ts'
import type { Presenter, Told } from './presenter.ts'
import { plainText } from './text.ts'
import { keysOf, thingsOf } from './wanted.ts'

/** Many changes in a row are looked at together. */
const TOGETHER_MS = 100
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
/** The longest text of a refusal. */
const SAID_LENGTH = 300

/** The calls of the contract that notifications need; each rejects with the refusal. */
export type NotifyingClient = {
  records: {
    follow(input: { cursor?: string }, options: { signal: AbortSignal }): Promise<RecordFollow>
  }
  questions: {
    answer(input: {
      ref: string
      commandId: CommandId
      options?: number[]
      text?: string
    }): Promise<unknown>
  }
  requests: {
    allow(input: { ref: string; commandId: CommandId }): Promise<unknown>
    deny(input: { ref: string; commandId: CommandId }): Promise<unknown>
  }
}

export type NotifierPorts = {
  client: NotifyingClient
  clock: Clock
  log: Log
  /** Sessions that a person looks at right now. */
  lookedAt(): ReadonlySet<SessionId>
  /** What has its answer window open. */
  opened(): readonly Askable[]
  openAnswer(asks: Askable): void
  openSession(session: SessionId): void
  /** The records changed. */
  onRecords(followed: Followed): void
}

export type Notifier = {
  presenter: Presenter
  /** A person looks at something else, or a window was opened or closed. */
  looked(): void
  end(): Promise<void>
}

/** Follows the records and keeps the notifications at what they say, and carries out what a person does with them. */
export function createNotifier(
  ports: NotifierPorts,
  createPresenter: (told: Told) => Presenter,
): Notifier {
  const { client, clock, log } = ports
  const ending = new AbortController()
  let followed: Followed = NOTHING
  let memory = BLANK
  let isKnown = false
  let cancelLook: (() => void) | undefined
  let lookAt = Number.POSITIVE_INFINITY
  /** What a click on a notification means that tells of something else than a thing, such as a refusal. */
  const asides = new Map<string, Notice>()

  const presenter = createPresenter({
    onButton: (key, name) => {
      const notice = noticeOf(key)
      const action = readAction(name)
      if (notice !== undefined && action !== undefined) void carryOut(action, notice)
    },
    onReply: (key, text) => {
      const notice = noticeOf(key)
      if (notice === undefined || notice.asks === null || notice.kind !== 'question') return
      const question = QuestionId.parse(notice.asks)
      if (text.trim() === '') ports.openAnswer(question)
      else void carryOut({ do: 'reply', question, text }, notice)
    },
    onClick: (key) => {
      const notice = noticeOf(key)
      if (notice !== undefined) openWhatItIsAbout(notice)
    },
    onPutAway: (key) => {
      asides.delete(key)
      memory = putAway(memory, key)
      lookSoon(TOGETHER_MS)
    },
    onLost: () => {
      asides.clear()
      memory = lostAll(memory)
    },
    onReport: () => lookSoon(0),
  })
  void follow()

  const noticeOf = (key: string) => memory.shown.get(key) ?? asides.get(key)

  function lookSoon(ms: number): void {
    const at = clock.monotonic() + ms
    if (!isKnown || ending.signal.aborted || at >= lookAt) return
    cancelLook?.()
    lookAt = at
    cancelLook = clock.after(ms, look)
  }

  function look(): void {
    lookAt = Number.POSITIVE_INFINITY
    cancelLook = undefined
    const decision = decide(memory, {
      things: thingsOf(followed),
      lookedAt: ports.lookedAt(),
      opened: new Set(ports.opened().flatMap(keysOf)),
      canShow: presenter.report().state === 'ready',
      now: clock.monotonic(),
    })
    memory = decision.memory
    for (const key of decision.close) presenter.close(key)
    for (const notice of decision.show) presenter.show(notice)
    if (decision.againMs !== undefined) lookSoon(decision.againMs)
  }

  function openWhatItIsAbout({ asks, session }: Notice): void {
    if (asks === null) ports.openSession(session)
    else ports.openAnswer(asks)
  }

  /** Ends with `ending` only; a host that is away is asked again. */
  async function follow(): Promise<void> {
    const { signal } = ending
    let cursor: string | undefined
    let failures = 0
    while (!signal.aborted) {
      try {
        const answer = await client.records.follow(cursor === undefined ? {} : { cursor }, {
          signal,
        })
        failures = 0
        cursor = answer.cursor
        if (answer.changes.length === 0 && !answer.snapshot) continue
        followed = afterFollow(followed, answer)
        isKnown = true
        ports.onRecords(followed)
        lookSoon(TOGETHER_MS)
      } catch (error) {
        if (signal.aborted) return
        if (failures === 0) log.warn('notifications do not know what happens', { error })
        failures += 1
        await pause(Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS))
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        ending.signal.removeEventListener('abort', done)
        resolve()
      }
      const cancel = clock.after(ms, done)
      ending.signal.addEventListener('abort', done)
    })
  }

  async function carryOut(action: Action, notice: Notice): Promise<void> {
    const commandId = commandOf(action)
    try {
      switch (action.do) {
        case 'option':
          await client.questions.answer({
            ref: action.question,
            commandId,
            options: [action.option],
          })
          break
        case 'reply':
          await client.questions.answer({ ref: action.question, commandId, text: action.text })
          break
        case 'allow':
          await client.requests.allow({ ref: action.request, commandId })
          break
        case 'deny':
          await client.requests.deny({ ref: action.request, commandId })
      }
    } catch (error) {
      sayNot(notice, error)
    }
  }

  /** What a person did in a notification and what did not happen must not go unseen. */
  function sayNot(notice: Notice, error: unknown): void {
    const { key, kind, session, asks } = notice
    const said = reasonOf(error)
    log.warn('what was done in a notification is refused', { key, error: said })
    if (presenter.report().state !== 'ready') {
      openWhatItIsAbout(notice)
      return
    }
    const aside: Notice = {
      key: `refused ${key}`,
      kind,
      session,
      asks,
      title: kind === 'request' ? 'The request was not answered' : 'The answer was not sent',
      body: plainText(said, SAID_LENGTH).text,
      buttons: [],
      reply: false,
      urgency: 'normal',
      waits: false,
    }
    asides.set(aside.key, aside)
    presenter.show(aside)
  }

  return {
    presenter,
    looked: () => lookSoon(0),
    end: async () => {
      ending.abort()
      cancelLook?.()
      await presenter.end()
    },
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof BalletError) return error.message
  const refusal = Refusal.safeParse(
    typeof error === 'object' && error !== null && 'data' in error ? error.data : undefined,
  )
  if (refusal.success) return `${refusal.data.message} ${refusal.data.hint ?? ''}`
  return error instanceof Error ? error.message : String(error)
}
