import { memo } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import { useSeconds } from '../../stores/clock.ts'
import { runtimeTitle } from '../../stores/runtime-reports.ts'
import { recordsStore } from '../../sync/records.ts'
import type {
  EndedRow,
  InputRow,
  NoticeRow,
  ProseRow,
  RuntimeRow,
  StateRow,
  TodoRow,
  TurnRow,
} from '../../sync/rows.ts'
import { showControls } from '../../text/controls.ts'
import { cutLines } from '../../text/lines.ts'
import { MarkdownChunk } from '../../text/markdown.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { duration, elapsed, fullTime, money, timeOfDay } from '../../ui/words.ts'
import { Permission } from '../requests/permission.tsx'
import { AssumptionItem, CompletedItem, ProgressItem, QuestionItem } from './asked-items.tsx'
import { InputImages } from './input-images.tsx'
import type { Item } from './items.ts'
import { LongText } from './long-text.tsx'
import { Steps } from './steps.tsx'
import { ToolCard, ToolResultOnly } from './tool-card.tsx'

function Running({ since }: { since: string }) {
  return <>{elapsed(useSeconds() - Date.parse(since))}</>
}

function TurnHeading({ row, running }: { row: TurnRow; running: boolean }) {
  const parts = [`turn ${row.turn ?? '?'}`]
  if (row.at !== null) parts.push(timeOfDay(row.at))
  if (row.end !== null) parts.push(duration(row.end.durationMs))
  if (row.end !== null && row.end.costUsd > 0) parts.push(money(row.end.costUsd))
  return (
    <h3 className="tl-turn" title={row.at === null ? undefined : fullTime(row.at)}>
      {parts.join(' · ')}
      {row.end === null && row.at !== null && running ? (
        <>
          {' · '}
          <Running since={row.at} />
        </>
      ) : null}
    </h3>
  )
}

const inputNote: Record<InputRow['state'], string> = {
  queued: 'queued',
  sent: 'sent',
  delivered: '',
  cancelled: 'cancelled',
  unknown: 'not known whether it arrived',
}

const steerNote: Record<InputRow['state'], string> = {
  queued: '',
  sent: 'steered: taken after the current tool call',
  delivered: 'steered into this turn',
  cancelled: '',
  unknown: 'steered',
}

/** The first message of a session is its ticket. */
function isTicket(row: InputRow, session: SessionId): boolean {
  const title = recordsStore().getState().sessions.get(session)?.title
  return title !== undefined && (row.text === title || row.text.startsWith(`${title}\n\n`))
}

function InputBubble({ row, session }: { row: InputRow; session: SessionId }) {
  const from = row.author === 'ballet' ? 'Ballet' : 'You'
  const notes = [
    isTicket(row, session) ? 'the ticket' : row.author === 'ballet' ? 'from Ballet' : '',
    row.inputKind === 'interrupt' ? 'with the interrupt' : '',
    row.inputKind === 'answer' ? 'answer' : '',
    row.steer ? steerNote[row.state] : '',
    row.steer && row.state === 'sent' ? '' : inputNote[row.state],
  ].filter((note) => note !== '')
  return (
    <div className="tl-input" data-state={row.state}>
      <div className="tl-bubble">
        <span className="unseen">{from}: </span>
        {row.text === '' ? null : (
          <LongText text={row.text} blob={row.textBlob} session={session} />
        )}
        <InputImages images={row.images} session={session} />
      </div>
      {notes.length === 0 ? null : <div className="tl-input-note">{notes.join(' · ')}</div>}
    </div>
  )
}

function Prose({ item, row, session }: { item: Item; row: ProseRow; session: SessionId }) {
  const chunks = item.chunks ?? []
  return (
    <div className="md" dir="auto" data-live={row.live && item.last ? '' : undefined}>
      {chunks.map((chunk, at) => (
        <MarkdownChunk
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text that only grows at its end
          key={at}
          chunk={chunk}
          live={row.live && item.last && at === chunks.length - 1}
        />
      ))}
      {row.textBlob !== undefined && item.last ? (
        <LongText text="" blob={row.textBlob} session={session} />
      ) : null}
      {row.partial && item.last ? <p className="tl-cut">cut off here</p> : null}
    </div>
  )
}

const firstLine = (text: string) => {
  const line = text.trimStart().split('\n', 1)[0] ?? ''
  return line.length > 300 ? line.slice(0, 300) : line
}

const lastLine = (text: string) => {
  const trimmed = text.trimEnd()
  return trimmed.slice(Math.max(trimmed.lastIndexOf('\n') + 1, trimmed.length - 300))
}

function Thinking({
  row,
  open,
  onToggle,
  session,
}: {
  row: ProseRow
  open: boolean
  onToggle: () => void
  session: SessionId
}) {
  return (
    <div className="tl-thinking">
      <button type="button" aria-expanded={open} onClick={onToggle}>
        <span className="tl-fold" aria-hidden="true" />
        <span className="tl-thinking-word">{row.live ? 'thinking' : 'thought'}</span>
        {open ? null : (
          <span className="clip">
            {showControls(row.live ? lastLine(row.text) : firstLine(row.text))}
          </span>
        )}
      </button>
      {open ? (
        <div className="tl-thinking-text">
          <LongText text={row.text} blob={row.textBlob} session={session} />
        </div>
      ) : null}
    </div>
  )
}

const todoWord = { pending: 'open', active: 'now', done: 'done' } as const

function Todo({ row, open, onToggle }: { row: TodoRow; open: boolean; onToggle: () => void }) {
  const done = row.items.filter((item) => item.status === 'done').length
  const now = row.items.find((item) => item.status === 'active')
  return (
    <div className="tl-todo">
      <button type="button" aria-expanded={open} onClick={onToggle}>
        <span className="tl-fold" aria-hidden="true" />
        <span className="tl-todo-word">
          Todo {done} of {row.items.length}
        </span>
        {open || now === undefined ? null : <span className="clip">{showControls(now.text)}</span>}
      </button>
      {open ? (
        <ul>
          {row.items.map((item, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a todo list names its items by their place
            <li key={at} data-status={item.status}>
              <span className="tl-todo-mark" aria-hidden="true" />
              <span>
                <span className="unseen">{todoWord[item.status]}: </span>
                {showControls(item.text)}
              </span>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  )
}

const noticeLook = { info: 'quiet', warning: 'wait', error: 'bad' } as const

function Notice({ row, session }: { row: NoticeRow; session: SessionId }) {
  return (
    <div className="tl-line" data-level={row.level}>
      <i className={`dot dot-${noticeLook[row.level]}`} aria-hidden="true" />
      <div className="tl-line-text">
        {row.level === 'info' ? null : (
          <strong>{row.level === 'error' ? 'Error' : 'Warning'} </strong>
        )}
        <LongText text={row.text} blob={row.textBlob} session={session} />
      </div>
      <span className="tl-meta">{row.at === null ? '' : timeOfDay(row.at)}</span>
    </div>
  )
}

function StateLine({ row }: { row: StateRow }) {
  return (
    <div className="tl-line tl-state">
      <div className="tl-line-text">
        <span className="tl-state-word">{row.to}</span>
        {row.reason === '' ? null : ` · ${showControls(row.reason)}`}
      </div>
      <span className="tl-meta">{row.at === null ? '' : timeOfDay(row.at)}</span>
    </div>
  )
}

/** Where one runtime ends and another begins. */
function RuntimeLine({ row }: { row: RuntimeRow }) {
  const model = row.model === null ? '' : ` with ${showControls(row.model)}`
  return (
    <div className="tl-line tl-runtime">
      <div className="tl-line-text">
        <strong>{runtimeTitle(row.to)}</strong>
        {model} goes on in a new conversation
        {row.from === row.to ? '' : `; ${runtimeTitle(row.from)} keeps the one above`}
      </div>
      <span className="tl-meta">{row.at === null ? '' : timeOfDay(row.at)}</span>
    </div>
  )
}

const endedTitle: Record<EndedRow['end']['reason'], string> = {
  completed: 'Turn ended',
  interrupted: 'Interrupted',
  failed: 'The turn failed',
  limit: 'Stopped at a limit',
  killed: 'Cut off',
}

function Ended({ row }: { row: EndedRow }) {
  const { reason, detail, hint, durationMs } = row.end
  if (reason === 'interrupted') {
    return (
      <div className="tl-line">
        <i className="dot dot-gone" aria-hidden="true" />
        <div className="tl-line-text">
          Interrupted after {duration(durationMs)}
          {detail === undefined ? null : ` · ${showControls(detail)}`}
        </div>
      </div>
    )
  }
  return (
    <div className="tl-ended" data-reason={reason}>
      <i className={`dot dot-${reason === 'limit' ? 'wait' : 'bad'}`} aria-hidden="true" />
      <div>
        <strong>{endedTitle[reason]}</strong>
        {detail === undefined ? null : (
          <p>
            <InlineCode text={cutLines(detail)} />
          </p>
        )}
        {hint === undefined ? null : (
          <p className="dim">
            <InlineCode text={cutLines(hint)} />
          </p>
        )}
      </div>
    </div>
  )
}

/** Draws one entry; unchanged entries are not drawn again. */
export const TimelineItem = memo(function TimelineItem({
  item,
  session,
  running,
  onToggle,
}: {
  item: Item
  session: SessionId
  /** Whether the turn or the call of this entry runs; its time then counts. */
  running: boolean
  onToggle: (key: string, open: boolean) => void
}) {
  const { row, open } = item
  const toggle = () => onToggle(row.key, !open)
  switch (row.kind) {
    case 'turn':
      return <TurnHeading row={row} running={running} />
    case 'input':
      return <InputBubble row={row} session={session} />
    case 'text':
      return <Prose item={item} row={row} session={session} />
    case 'thinking':
      return <Thinking row={row} open={open} onToggle={toggle} session={session} />
    case 'tool':
      return item.part === 'result' ? (
        <ToolResultOnly row={row} session={session} />
      ) : (
        <ToolCard row={row} open={open} onToggle={toggle} session={session} running={running} />
      )
    case 'todo':
      return <Todo row={row} open={open} onToggle={toggle} />
    case 'notice':
      return <Notice row={row} session={session} />
    case 'runtime':
      return <RuntimeLine row={row} />
    case 'state':
      return <StateLine row={row} />
    case 'ended':
      return <Ended row={row} />
    case 'steps':
      return <Steps row={row} open={open} onToggle={toggle} />
    case 'request':
      return <Permission permission={row.permission} session={session} headed={false} />
    case 'question':
      return <QuestionItem row={row} open={open} onToggle={toggle} session={session} />
    case 'assumption':
      return <AssumptionItem row={row} />
    case 'progress':
      return <ProgressItem row={row} />
    case 'completed':
      return <CompletedItem row={row} session={session} />
  }
})
