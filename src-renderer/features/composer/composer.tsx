import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { SessionState } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { draftOf, keepDraft, useDraft } from '../../stores/drafts.ts'
import { type Outgoing, takeUnsent, useOutgoing } from '../../stores/outgoing.ts'
import { useClient } from '../../sync/client.ts'
import { useCapabilities, useRecords } from '../../sync/records.ts'
import { Key } from '../../ui/key.tsx'
import { joined, PASTE_LIMIT, PastedList, usePasted } from '../../ui/pasted.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { AskLine } from '../requests/ask-line.tsx'
import { useAttends } from '../session/attend.ts'
import { ImageList } from './image-list.tsx'
import { composerAct } from './keys.ts'
import { type Editing, NextInputs } from './next-inputs.tsx'
import { cancelInput, editInput, queueOf } from './queue.ts'
import { give, interrupt, type Manner } from './steer.ts'
import { imageFiles, useImages } from './use-images.ts'

const LINE = 20
const LINES = 8
const PADDING = 14

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
  moved: '',
}

/** Inputs on their way to the host. */
function useSending(session: SessionId): Outgoing[] {
  const known = useRecords((records) => records.inputs)
  const outgoing = useOutgoing()
  return useMemo(
    () => outgoing.filter((input) => input.session === session && !known.has(input.id)),
    [known, outgoing, session],
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
  const text = useDraft(session)
  const pasted = usePasted(session)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  /** The turn that was told to stop; until it ends the button says so. */
  const [stopping, setStopping] = useState<number | null>(null)
  const box = useRef<HTMLTextAreaElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const inputs = useRecords((records) => records.inputs)
  const queue = useMemo(() => queueOf(inputs, session), [inputs, session])
  const sending = useSending(session)
  const capabilities = useCapabilities(session)
  const images = useImages(session, setRefusal)
  const [editing, setEditing] = useState<Editing | null>(null)
  const working = state === 'working'
  const canSteer = working && capabilities?.steer === true
  const isStopping = working && stopping === turn
  const isEmpty = text.trim() === '' && pasted.pieces.length === 0 && images.images.length === 0
  useAttends(session, !isEmpty)

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

  const write = (value: string) => keepDraft(session, pasted.keep(value))

  /** Puts a text that could not be given back into the box; what was written meanwhile stays below it. */
  const putBack = (typed: string) => {
    const since = draftOf(session)
    write(since === '' ? typed : `${typed}\n\n${since}`)
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the box is there
  useEffect(() => {
    for (const unsent of takeUnsent(session).reverse()) putBack(unsent)
  }, [session])

  const send = async (manner: Manner) => {
    const typed = box.current?.value ?? text
    const pieces = pasted.pieces
    const pictures = images.images
    const message = joined(typed, pieces)
    if (message === '' && pictures.length === 0) return
    write('')
    pasted.set([])
    images.set([])
    setRefusal(null)
    if (manner === 'interrupt') setStopping(turn)
    const { given, refusal: problem } = await give(client, session, message, manner, pictures)
    if (problem !== null) setRefusal(problem)
    if (given) return
    pasted.putBack(pieces)
    putBack(typed)
    images.putBack(pictures)
    setStopping(null)
  }

  const isQueued = queue.some(({ id }) => id === editing?.id)
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked when the input leaves the queue, and only then
  useEffect(() => {
    if (editing === null || isQueued) return
    const unchanged = editing.before === editing.text
    setEditing(null)
    if (unchanged) return
    putBack(editing.text)
    setRefusal({
      code: 'input.sent',
      message: 'The message was sent before your change.',
      hint: 'What you wrote is in the box below: send it as a message of its own, or throw it away.',
    })
    box.current?.focus()
  }, [isQueued])

  const edit = (next: Editing | null) => {
    // A long text would make a text box stand still; it comes back as a pasted piece.
    if (next === null || next.text.length <= PASTE_LIMIT) {
      setEditing(next)
      if (next === null) box.current?.focus()
      return
    }
    void cancelInput(client, next.id).then((problem) => {
      if (problem === null) pasted.keep(next.text)
      else setRefusal(problem)
    })
    box.current?.focus()
  }

  const save = async () => {
    if (editing === null || editing.text.trim() === '') return
    const { id, before, text: changed } = editing
    setEditing(null)
    box.current?.focus()
    if (before === changed) return
    const problem = await editInput(client, id, changed)
    if (problem === null) return
    putBack(changed)
    setRefusal(problem)
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
      ref={form}
      className="comp"
      aria-label="Message"
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes('Files')) event.preventDefault()
      }}
      onDrop={(event) => {
        const files = imageFiles(event.dataTransfer)
        if (files.length === 0) return
        event.preventDefault()
        void images.add(files, capabilities?.images === true)
      }}
      onSubmit={(event) => {
        event.preventDefault()
        void send('queue')
      }}
    >
      <AskLine session={session} />
      <NextInputs
        queue={queue}
        sending={sending}
        canSteer={canSteer}
        editing={editing}
        onEdit={edit}
        onSave={() => void save()}
        onRefused={setRefusal}
        onEmptied={() => box.current?.focus()}
      />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <PastedList pieces={pasted.pieces} onChange={pasted.set} />
      <ImageList images={images.images} onChange={images.set} />
      <textarea
        ref={box}
        className="comp-box"
        rows={1}
        value={text}
        placeholder={placeholders[state]}
        aria-label={placeholders[state]}
        onChange={(event) => write(event.target.value)}
        onPaste={(event) => {
          const files = imageFiles(event.clipboardData)
          if (files.length > 0) {
            event.preventDefault()
            void images.add(files, capabilities?.images === true)
          } else if (pasted.paste(event.clipboardData.getData('text/plain'))) event.preventDefault()
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
          if (act === 'queue') {
            const last = form.current?.querySelectorAll<HTMLElement>('li[data-input]')
            if (event.currentTarget.value !== '' || last === undefined) return
            last[last.length - 1]?.focus()
            return
          }
          event.preventDefault()
          if (act === 'interrupt') void stopTurn()
          else if (act === 'interrupt-and-send' && working) void send('interrupt')
          else void send(act === 'steer' && canSteer ? 'steer' : 'queue')
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
          <button type="button" className="btn" onClick={() => void send('interrupt')}>
            Interrupt and send <Key keys="Mod+Shift+Enter" />
          </button>
        ) : null}
        {canSteer && !isEmpty ? (
          <button
            type="button"
            className="btn"
            title="Into the running turn, after the current tool call"
            onClick={() => void send('steer')}
          >
            Steer <Key keys="Alt+Enter" />
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
