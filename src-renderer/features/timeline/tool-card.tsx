import type { SessionId } from '../../../src-shared/ids.ts'
import { useSeconds } from '../../stores/clock.ts'
import type { ToolRow } from '../../sync/rows.ts'
import { showControls } from '../../text/controls.ts'
import { lastLines } from '../../text/lines.ts'
import { counted, duration, elapsed } from '../../ui/words.ts'
import { outcomeWord } from '../requests/answers.ts'
import { Permission } from '../requests/permission.tsx'
import { readableArguments } from '../requests/wanted.ts'
import { Delta, DiffView } from './diff-view.tsx'
import { countCalls, isAsking, latestChild } from './items.ts'
import { OutputView, plainCut } from './output-view.tsx'

const LIVE_LINES = 12
/** A longer command does not fit into the header and is shown whole below it. */
const LONG_COMMAND = 90

function statusLook(row: ToolRow, running: boolean): string {
  switch (row.result?.status) {
    case undefined:
      if (isAsking(row)) return 'ask'
      return running ? 'begin' : 'wait'
    case 'ok':
      return 'on'
    case 'error':
      return 'bad'
    case 'cancelled':
      return 'gone'
    case 'unknown':
      return 'wait'
  }
}

const statusWord = { ok: '', error: 'failed', cancelled: 'cancelled', unknown: 'outcome unknown' }

function Elapsed({ since }: { since: string }) {
  return <span className="tl-meta">running · {elapsed(useSeconds() - Date.parse(since))}</span>
}

function Meta({ row, running, folded }: { row: ToolRow; running: boolean; folded: boolean }) {
  if (row.result === null && isAsking(row)) return <span className="tl-meta tl-asks">asks</span>
  if (row.result === null) {
    return running && row.at !== null ? (
      <Elapsed since={row.at} />
    ) : (
      <span className="tl-meta">no result</span>
    )
  }
  const { status, diff, durationMs } = row.result
  const answer = row.permission?.answer
  const added = diff.reduce((sum, file) => sum + file.added, 0)
  const removed = diff.reduce((sum, file) => sum + file.removed, 0)
  const words = [
    folded && answer != null ? outcomeWord(answer.outcome) : '',
    statusWord[status],
    durationMs === undefined || durationMs < 1_000 ? '' : duration(durationMs),
  ].filter((word) => word !== '')
  return (
    <span className="tl-meta">
      {diff.length === 0 ? null : (
        <span className="tl-delta">
          <Delta added={added} removed={removed} />
        </span>
      )}
      {words.length === 0 ? null : (
        <span className={status === 'error' ? 'tl-failed' : undefined}>{words.join(' · ')}</span>
      )}
    </span>
  )
}

function Subagent({ row }: { row: ToolRow }) {
  const calls = countCalls(row)
  const now = row.result === null ? latestChild(row) : undefined
  if (calls === 0) return null
  return (
    <span className="tl-sub clip">
      {counted(calls, 'call')}
      {now === undefined ? '' : ` · ${showControls(now.title)}`}
    </span>
  )
}

function hasBody(row: ToolRow): boolean {
  return (
    row.result === null ||
    row.result.output !== '' ||
    row.result.diff.length > 0 ||
    row.input !== ''
  )
}

/** The arguments say more than the title where the tool is not one of the common kinds. */
const showsInput = (row: ToolRow) => ['mcp', 'other', 'agent', 'fetch'].includes(row.toolKind)

function Output({ row, session }: { row: ToolRow; session: SessionId }) {
  const { result } = row
  if (result === null || result.diff.length > 0) return null
  if (result.output === '' && result.outputBlob === undefined) {
    return <p className="tl-nothing">no output</p>
  }
  return (
    <OutputView
      text={result.output}
      blob={result.outputBlob}
      bytes={result.outputBytes}
      session={session}
      label="Output"
    />
  )
}

/** What a call gave in the end, behind what its subagent did. */
export function ToolResultOnly({ row, session }: { row: ToolRow; session: SessionId }) {
  return (
    <div>
      <div className="tl-tool tl-tool-open">
        <Output row={row} session={session} />
      </div>
    </div>
  )
}

/** One tool call: what it does and how it ended, and on demand what it gave. */
export function ToolCard({
  row,
  open,
  onToggle,
  session,
  running,
}: {
  row: ToolRow
  open: boolean
  onToggle: () => void
  session: SessionId
  running: boolean
}) {
  const { result } = row
  const body = open && hasBody(row)
  const { permission } = row
  const asks = permission !== null && permission.answer === null && result === null
  const state = result?.status ?? (asks ? 'asks' : running ? 'running' : 'no result')
  const shown =
    body && (result !== null || row.liveOutput !== null || showsInput(row) || permission !== null)
  return (
    <div className={shown ? 'tl-tool tl-tool-open' : 'tl-tool'} data-status={state}>
      <button type="button" className="tl-tool-head" aria-expanded={open} onClick={onToggle}>
        <i className={`dot dot-${statusLook(row, running)}`} aria-hidden="true" />
        <span className="unseen">{state}: </span>
        <code
          className="clip"
          title={row.title.length > 60 ? row.title.slice(0, 1_000) : undefined}
        >
          <span className="tl-tool-name">{row.name}</span> {showControls(row.title.slice(0, 500))}
        </code>
        <Subagent row={row} />
        <Meta row={row} running={running} folded={!shown} />
      </button>
      {shown ? (
        <div className="tl-tool-body">
          {permission === null ? null : (
            <Permission permission={permission} session={session} headed />
          )}
          {!asks && row.toolKind === 'execute' && row.title.length > LONG_COMMAND ? (
            <pre className="tl-out tl-command">{plainCut(row.title)}</pre>
          ) : null}
          {!asks && showsInput(row) && row.input !== '' ? (
            <OutputView
              text={readableArguments(row.input)}
              blob={row.inputBlob}
              bytes={undefined}
              session={session}
              label="Input"
            />
          ) : null}
          {row.liveOutput === null ? null : (
            <pre className="tl-out">
              {plainCut(lastLines(row.liveOutput.slice(-20_000), LIVE_LINES))}
            </pre>
          )}
          {result === null || result.diff.length === 0 ? null : (
            <DiffView files={result.diff} title={row.title} />
          )}
          {row.children.length > 0 ? null : <Output row={row} session={session} />}
        </div>
      ) : null}
    </div>
  )
}
