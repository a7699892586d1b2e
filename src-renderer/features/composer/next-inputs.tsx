import { type DragEvent, type KeyboardEvent, useRef, useState } from 'react'
import type { Input } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Outgoing } from '../../stores/outgoing.ts'
import { useClient } from '../../sync/client.ts'
import { showControls } from '../../text/controls.ts'
import { isMod, Key, keyText } from '../../ui/key.tsx'
import { counted } from '../../ui/words.ts'
import { cancelInput, moveInput, placeAt, steerInput } from './queue.ts'

/** As many are listed one by one before somebody asks for the others. */
const LISTED = 4

const oneLine = (text: string) => showControls(text.slice(0, 400)).replace(/\s+/g, ' ')

function words(input: Pick<Input, 'text'> & { images: readonly unknown[] }): string {
  const images = input.images.length === 0 ? '' : counted(input.images.length, 'image')
  return [oneLine(input.text), images].filter((word) => word !== '').join(' · ')
}

export type Editing = { id: string; before: string; text: string }

function Editor({
  editing,
  onChange,
  onSave,
  onClose,
}: {
  editing: Editing
  onChange: (text: string) => void
  onSave: () => void
  onClose: () => void
}) {
  const rows = Math.min(8, editing.text.split('\n').length)
  return (
    <div className="comp-edit">
      <textarea
        className="comp-box"
        aria-label="Queued message"
        // biome-ignore lint/a11y/noAutofocus: the person just chose to change it
        autoFocus
        rows={rows}
        value={editing.text}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          event.stopPropagation()
          if (event.key === 'Escape') {
            event.preventDefault()
            onClose()
          } else if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault()
            onSave()
          }
        }}
      />
      <div className="comp-bar">
        <span className="grow faint">It stays in the queue, at its place.</span>
        <button type="button" className="btn" onClick={onClose}>
          Leave it <Key keys="Escape" />
        </button>
        <button
          type="button"
          className="btn btn-main"
          disabled={editing.text.trim() === ''}
          onClick={onSave}
        >
          Save <Key keys="Enter" />
        </button>
      </div>
    </div>
  )
}

/** What waits to be delivered, in order; each can be changed, moved, steered and cancelled until it is sent. */
export function NextInputs({
  queue,
  sending,
  canSteer,
  editing,
  onEdit,
  onSave,
  onRefused,
  onEmptied,
}: {
  queue: readonly Input[]
  sending: readonly Outgoing[]
  canSteer: boolean
  editing: Editing | null
  onEdit: (editing: Editing | null) => void
  onSave: () => void
  onRefused: (refusal: Refusal) => void
  /** The one that had the focus is gone. */
  onEmptied: () => void
}) {
  const client = useClient()
  const [all, setAll] = useState(false)
  const [dragged, setDragged] = useState<string | null>(null)
  const [over, setOver] = useState<string | null>(null)
  const list = useRef<HTMLUListElement>(null)
  const count = queue.length + sending.length
  if (count === 0) return null
  const shown = all ? queue : queue.slice(0, LISTED)

  const act = async (work: Promise<Refusal | null>) => {
    const refusal = await work
    if (refusal !== null) onRefused(refusal)
  }
  const focusAt = (at: number) => {
    const lines = list.current?.querySelectorAll<HTMLElement>('li[data-input]')
    if (lines === undefined || lines.length === 0 || at >= lines.length) onEmptied()
    else lines[Math.max(0, at)]?.focus()
  }
  const move = (id: string, to: number) => {
    const before = placeAt(queue, id, to)
    if (before !== undefined) void act(moveInput(client, id, before))
  }
  const cancel = (id: string, at: number) => {
    focusAt(at === queue.length - 1 ? at - 1 : at + 1)
    if (queue.length === 1) onEmptied()
    void act(cancelInput(client, id))
  }
  const edit = (input: Input) => onEdit({ id: input.id, before: input.text, text: input.text })

  const onKeyDown = (event: KeyboardEvent<HTMLElement>, input: Input, at: number) => {
    if (event.target !== event.currentTarget) return
    const key = event.key
    if (event.altKey && (key === 'ArrowUp' || key === 'ArrowDown')) {
      move(input.id, at + (key === 'ArrowUp' ? -1 : 1))
    } else if (event.altKey || isMod(event)) return
    else if (key === 'ArrowUp') focusAt(at - 1)
    else if (key === 'ArrowDown') focusAt(at + 1)
    else if (key === 'Enter' || key === 'e') edit(input)
    else if (key === 'Delete' || key === 'Backspace') cancel(input.id, at)
    else if (key === 's' && canSteer) void act(steerInput(client, input.id))
    else if (key === 'Escape') onEmptied()
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  const onDrop = (event: DragEvent, at: number) => {
    event.preventDefault()
    event.stopPropagation()
    if (dragged !== null) move(dragged, at)
    setDragged(null)
    setOver(null)
  }

  return (
    <ul ref={list} className="comp-next" aria-label="Queued inputs">
      {shown.map((input, at) =>
        editing?.id === input.id ? (
          <li key={input.id} className="comp-editing">
            <Editor
              editing={editing}
              onChange={(text) => onEdit({ ...editing, text })}
              onSave={onSave}
              onClose={() => onEdit(null)}
            />
          </li>
        ) : (
          <li
            key={input.id}
            data-input={input.id}
            data-over={over === input.id ? '' : undefined}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys change, move and cancel it
            tabIndex={0}
            draggable
            title={input.text.slice(0, 1_000)}
            aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown Enter Delete"
            onKeyDown={(event) => onKeyDown(event, input, at)}
            onDragStart={(event) => {
              event.dataTransfer.effectAllowed = 'move'
              event.dataTransfer.setData('text/plain', input.id)
              setDragged(input.id)
            }}
            onDragEnd={() => {
              setDragged(null)
              setOver(null)
            }}
            onDragOver={(event) => {
              if (dragged === null) return
              event.preventDefault()
              setOver(input.id)
            }}
            onDrop={(event) => onDrop(event, at)}
          >
            <span
              className="comp-grip"
              aria-hidden="true"
              title={`Drag, or ${keyText('Alt+↑')} and ${keyText('Alt+↓')}`}
            />
            <span className="key">{at === 0 ? 'next' : at + 1}</span>
            <span className="clip grow">{words(input)}</span>
            <span className="comp-next-acts">
              {canSteer ? (
                <button
                  type="button"
                  className="btn-quiet"
                  tabIndex={-1}
                  title="Hand it over now; taken after the current tool call (S)"
                  onClick={() => void act(steerInput(client, input.id))}
                >
                  steer
                </button>
              ) : null}
              <button
                type="button"
                className="btn-quiet"
                tabIndex={-1}
                title={`Change it (${keyText('Enter')})`}
                onClick={() => edit(input)}
              >
                edit
              </button>
              <button
                type="button"
                className="btn-quiet"
                tabIndex={-1}
                title="Take it out of the queue (Delete)"
                onClick={() => cancel(input.id, at)}
              >
                cancel
              </button>
            </span>
          </li>
        ),
      )}
      {sending.map(({ id, text, images }) => (
        <li key={id}>
          <span className="comp-grip" aria-hidden="true" />
          <span className="key">sending</span>
          <span className="clip grow">{words({ text, images })}</span>
        </li>
      ))}
      {queue.length > LISTED ? (
        <li>
          <button type="button" className="btn-link" onClick={() => setAll(!all)}>
            {all ? 'Show fewer' : `and ${counted(queue.length - LISTED, 'more queued input')}`}
          </button>
        </li>
      ) : null}
    </ul>
  )
}
