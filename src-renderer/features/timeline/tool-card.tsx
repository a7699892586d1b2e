import type { SessionId } from '../../../src-shared/ids.ts'
import { useSeconds } from '../../stores/clock.ts'
import type { ToolRow } from '../../sync/rows.ts'
import { showControls } from '../../text/controls.ts'
import { lastLines } from '../../text/lines.ts'
import { counted, duration, elapsed } from '../../ui/words.ts'
import { DiffView } from './diff-view.tsx'
import { countCalls, latestChild } from './items.ts'
import { OutputView, plainCut } from './output-view.tsx'

const LIVE_LINES = 12

function statusLook(row: ToolRow): string {
  switch (row.result?.status) {
    case undefined:
      return 'begin'
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

function Meta({ row }: { row: ToolRow }) {
  if (row.result === null) return row.at === null ? null : <Elapsed since={row.at} />
  const { status, diff, durationMs } = row.result
  const added = diff.reduce((sum, file) => sum + file.added, 0)
  const removed = diff.reduce((sum, file) => sum + file.removed, 0)
  const words = [
    statusWord[status],
    durationMs === undefined || durationMs < 1_000 ? '' : duration(durationMs),
  ].filter((word) => word !== '')
  return (
    <span className="tl-meta">
      {diff.length === 0 ? null : (
        <span className="tl-delta">
          <span className="tl-added">+{added}</span> <span className="tl-removed">−{removed}</span>
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

function readable(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input), null, 2)
  } catch {
    // Cut at the inline limit: shown as it came.
    return input
  }
}

/** One tool call: what it does and how it ended, and on demand what it gave. */
export function ToolCard({
  row,
  open,
  onToggle,
  session,
}: {
  row: ToolRow
  open: boolean
  onToggle: () => void
  session: SessionId
}) {
  const { result } = row
  const body = open && hasBody(row)
  const output = result !== null && result.diff.length === 0 ? result.output : ''
  const shown = body && (result !== null || row.liveOutput !== null || showsInput(row))
  return (
    <div
      className={shown ? 'tl-tool tl-tool-open' : 'tl-tool'}
      data-status={result?.status ?? 'running'}
    >
      <button type="button" className="tl-tool-head" aria-expanded={open} onClick={onToggle}>
        <i className={`dot dot-${statusLook(row)}`} aria-hidden="true" />
        <span className="unseen">{result === null ? 'running: ' : `${result.status}: `}</span>
        <code
          className="clip"
          title={row.title.length > 60 ? row.title.slice(0, 1_000) : undefined}
        >
          <span className="tl-tool-name">{row.name}</span> {showControls(row.title.slice(0, 500))}
        </code>
        <Subagent row={row} />
        <Meta row={row} />
      </button>
      {shown ? (
        <div className="tl-tool-body">
          {showsInput(row) && row.input !== '' ? (
            <OutputView
              text={readable(row.input)}
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
          {result === null || (output === '' && result.outputBlob === undefined) ? null : (
            <OutputView
              text={output}
              blob={result.outputBlob}
              bytes={result.outputBytes}
              session={session}
              label="Output"
            />
          )}
          {result !== null &&
          output === '' &&
          result.diff.length === 0 &&
          result.outputBlob === undefined ? (
            <p className="tl-nothing">no output</p>
          ) : null}
        </div>
      ) : null}
    </div>
  )
}
