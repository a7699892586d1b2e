import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { SessionState } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { draftOf, keepDraft } from '../../stores/drafts.ts'
import { useOutgoing } from '../../stores/outgoing.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { joined, PastedList, usePasted } from '../../ui/pasted.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { counted } from '../../ui/words.ts'
import { composerAct } from './keys.ts'
import { give, interrupt } from './steer.ts'

const LINE = 20
const LINES = 8
const PADDING = 14
/** As many as are listed one by one; the others are counted. */
const LISTED = 4

const placeholders: Record<SessionState, string> = {
  queued: 'Message: delivered when an agent is free',
  starting: 'Message: delivered when the session is ready',
  working: 'Message: delivered when this turn ends',
  waiting: 'Message',
  parking: 'Message: brings the session back',
  parked: 'Message: brings the session back',
  resuming: 'Message: delivered when the session is back',
  failed: 'Message: tries again',
  finished: '',
  cancelled: '',
}

type Next = { id: string; text: string; note: string }

/** Inputs that wait for their turn: those the host has, and those on their way to it. */
function useNext(session: SessionId): Next[] {
  const inputs = useRecords((records) => records.inputs)
  const outgoing = useOutgoing()
  return useMemo(() => {
    const next: Next[] = []
    for (const input of inputs.values()) {
      if (input.session === session && input.state === 'queued') {
        next.push({ id: input.id, text: input.text, note: 'next' })
      }
    }
    next.sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const { id, session: of, text } of outgoing) {
      if (of === session && !inputs.has(id)) next.push({ id, text, note: 'sending' })
    }
    return next
  }, [inputs, outgoing, session])
}

const oneLine = (text: string) => showControls(text.slice(0, 400)).replace(/\s+/g, ' ')

function NextInputs({ next }: { next: Next[] }) {
  if (next.length === 0) return null
  const more = next.length - LISTED
  return (
    <ul className="comp-next" aria-label="Queued inputs">
      {next.slice(0, LISTED).map((input) => (
        <li key={input.id} data-input={input.id}>
          <span className="key">{input.note}</span>
          <span className="clip" title={input.text.slice(0, 1_000)}>
            {oneLine(input.text)}
          </span>
          <span className="grow" />
          <span className="faint">{input.note === 'next' ? 'queued' : ''}</span>
        </li>
      ))}
      {more > 0 ? <li className="faint">and {counted(more, 'more queued input')}</li> : null}
    </ul>
  )
}

/** Where a person writes to a session: what waits to be delivered, the text, and what stops the turn. */
export function Composer({
  session,
  state,
  turn,
  focusRequest,
}: {
  session: SessionId
  state: SessionState
  turn: number
  /** Grows when something else wants the text box to have the focus. */
  focusRequest: number
}) {
  const client = useClient()
  const [text, setText] = useState(() => draftOf(session))
  const pasted = usePasted(session)
  const isEmpty = text.trim() === '' && pasted.pieces.length === 0
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  /** The turn that was told to stop; until it ends the button says so. */
  const [stopping, setStopping] = useState<number | null>(null)
  const box = useRef<HTMLTextAreaElement>(null)
  const next = useNext(session)
  const working = state === 'working'
  const isStopping = working && stopping === turn

  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    element.style.height = 'auto'
    element.style.height = `${Math.min(element.scrollHeight, LINE * LINES + PADDING) + 2}px`
  }, [text])

  useEffect(() => {
    if (focusRequest > 0) box.current?.focus()
  }, [focusRequest])

  const write = (value: string) => {
    const kept = pasted.keep(value)
    setText(kept)
    keepDraft(session, kept)
  }

  const send = async (interrupts: boolean) => {
    const typed = box.current?.value ?? text
    const pieces = pasted.pieces
    const given = joined(typed, pieces)
    if (given === '') return
    write('')
    pasted.set([])
    setRefusal(null)
    if (interrupts) setStopping(turn)
    const problem = await give(client, session, given, interrupts)
    if (problem === null) return
    // What was written meanwhile stays, below what could not be sent.
    const since = draftOf(session)
    write(since === '' ? typed : `${typed}\n\n${since}`)
    pasted.set(pieces)
    setRefusal(problem)
    setStopping(null)
  }

  const stopTurn = async () => {
    if (!working || isStopping) return
    setStopping(turn)
    setRefusal(null)
    const problem = await interrupt(client, session)
    if (problem === null) return
    setRefusal(problem)
    setStopping(null)
  }

  return (
    <form
      className="comp"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault()
        void send(false)
      }}
    >
      <NextInputs next={next} />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <PastedList pieces={pasted.pieces} onChange={pasted.set} />
      <textarea
        ref={box}
        className="comp-box"
        rows={1}
        value={text}
        placeholder={placeholders[state]}
        aria-label={placeholders[state]}
        onChange={(event) => write(event.target.value)}
        onPaste={(event) => {
          if (pasted.paste(event.clipboardData.getData('text/plain'))) event.preventDefault()
        }}
        onKeyDown={(event) => {
          const act = composerAct({
            key: event.key,
            shiftKey: event.shiftKey,
            altKey: event.altKey,
            ctrlKey: event.ctrlKey,
            metaKey: event.metaKey,
            isComposing: event.nativeEvent.isComposing,
          })
          if (act === null || (act === 'interrupt' && !working)) return
          event.preventDefault()
          if (act === 'interrupt') void stopTurn()
          else void send(act === 'interrupt-and-send' && working)
        }}
      />
      <div className="comp-bar">
        <button
          type="button"
          className="btn"
          disabled={!working || isStopping}
          onClick={() => void stopTurn()}
        >
          {isStopping ? 'Interrupting…' : 'Interrupt'} <Key keys="Escape" />
        </button>
        {working && !isEmpty ? (
          <button type="button" className="btn" onClick={() => void send(true)}>
            Interrupt and send <Key keys="Mod+Shift+Enter" />
          </button>
        ) : null}
        <span className="grow" />
        <button type="submit" className="btn btn-main" disabled={isEmpty}>
          {state === 'waiting' ? 'Send' : 'Queue'} <Key keys="Enter" />
        </button>
      </div>
    </form>
  )
}
