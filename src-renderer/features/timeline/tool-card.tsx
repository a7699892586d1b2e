import type { SessionId } from '../../../src-shared/ids.ts'
import { useSeconds } from '../../stores/clock.ts'
import type { ToolRow } from '../../sync/rows.ts'
import { showControls } from '../../text/controls.ts'
import { lastLines } from '../../text/lines.ts'
import { counted, duration, elapsed } from '../../ui/words.ts'
import { Delta, DiffView } from './diff-view.tsx'
import { countCalls, latestChild } from './items.ts'
import { OutputView, plainCut } from './output-view.tsx'

const LIVE_LINES = 12
/** A longer command does not fit into the header and is shown whole below it. */
const LONG_COMMAND = 90

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

function Meta({ row, running }: { row: ToolRow; running: boolean }) {
  if (row.result === null) {
    return running && row.at !== null ? (
      <Elapsed since={row.at} />
    ) : (
      <span className="tl-meta">no result</span>
    )
  }
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

/** The arguments a line each, texts as they are; what is no JSON object as it came. */
function readable(input: string): string {
  let given: unknown
  try {
    given = JSON.parse(input)
  } catch {
    // Cut at the inline limit.
    return input
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return input
  return Object.entries(given)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}

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
        <Meta row={row} running={running} />
      </button>
      {shown ? (
        <div className="tl-tool-body">
          {row.toolKind === 'execute' && row.title.length > LONG_COMMAND ? (
            <pre className="tl-out tl-command">{plainCut(row.title)}</pre>
          ) : null}
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
          {row.children.length > 0 ? null : <Output row={row} session={session} />}
        </div>
      ) : null}
    </div>
  )
}
