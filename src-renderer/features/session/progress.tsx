import type { Progress } from '../../../src-shared/records.ts'
import { showControls } from '../../text/controls.ts'

type Reported = { done?: number | undefined; total?: number | undefined }

/** How much of the work is done, from 0 to 1; undefined where that was not told. */
export function shareOf({ done, total }: Reported): number | undefined {
  if (done === undefined || total === undefined || total <= 0) return undefined
  return Math.min(1, Math.max(0, done / total))
}

/** `3 of 8`; empty where it was not told. */
export function progressCount({ done, total }: Reported): string {
  if (done === undefined) return ''
  return total === undefined ? `${done} done` : `${done} of ${total}`
}

/** The share of a work that is done, as a bar and in numbers. */
export function ProgressBar({ progress }: { progress: Reported }) {
  const share = shareOf(progress)
  const count = progressCount(progress)
  if (count === '') return null
  return (
    <span className="progress">
      {share === undefined ? null : (
        <span className="progress-bar" aria-hidden="true">
          <i style={{ width: `${share * 100}%` }} />
        </span>
      )}
      {count}
    </span>
  )
}

/** What the agent reported last. */
export function ProgressLine({ progress }: { progress: Progress }) {
  return (
    <p className="progress-line">
      <ProgressBar progress={progress} />
      <span>{showControls(progress.summary.slice(0, 500))}</span>
    </p>
  )
}
