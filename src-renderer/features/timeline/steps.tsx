import type { StepEvent, StepsRow } from '../../sync/rows.ts'
import { sagaState } from '../../sync/step-rows.ts'
import { showControls } from '../../text/controls.ts'
import { StateDot } from '../../ui/state-dot.tsx'
import { duration, timeOfDay } from '../../ui/words.ts'

const look = { started: 'begin', done: 'done', failed: 'bad' } as const
const statusWord = { started: 'running', done: 'done', failed: 'failed' } as const

const word = {
  park: { started: 'Parking', done: 'Parked', failed: 'Parking' },
  resume: { started: 'Resuming', done: 'Resumed', failed: 'Resuming' },
} as const

/** `push 0.4 s`, `push …` while it runs, `push failed`. */
function stepText({ step, status, durationMs }: StepEvent): string {
  if (status === 'failed') return `${step} failed`
  if (status === 'started') return `${step} …`
  return durationMs === undefined ? step : `${step} ${duration(durationMs)}`
}

/** One parking or resuming: its steps with their durations in one line, and what each of them did on demand. */
export function Steps({
  row,
  open,
  onToggle,
}: {
  row: StepsRow
  open: boolean
  onToggle: () => void
}) {
  const { status, durationMs } = sagaState(row)
  return (
    <div className="tl-steps" data-saga={row.saga} data-status={status}>
      <button type="button" aria-expanded={open} onClick={onToggle}>
        <span className="tl-fold" aria-hidden="true" />
        <StateDot look={look[status]} />
        <span className="tl-steps-word">
          {word[row.saga][status]}
          {status === 'failed' ? ': failed' : ''}
        </span>
        <span className="clip">{row.steps.map(stepText).join(' · ')}</span>
        <span className="tl-meta">
          {status === 'started' ? '' : `${duration(durationMs)} · `}
          {row.at === null ? '' : timeOfDay(row.at)}
        </span>
      </button>
      {open ? (
        <ol>
          {row.steps.map((step) => (
            <li key={step.step} data-status={step.status}>
              <StateDot look={look[step.status]} />
              <span className="tl-steps-name">{step.step}</span>
              <span className="tl-line-text">
                <span className={step.status === 'failed' ? undefined : 'unseen'}>
                  {statusWord[step.status]}
                  {step.detail === undefined ? '' : ': '}
                </span>
                {step.detail === undefined ? null : showControls(step.detail)}
              </span>
              <span className="tl-meta">
                {step.durationMs === undefined ? '' : duration(step.durationMs)}
              </span>
            </li>
          ))}
        </ol>
      ) : null}
    </div>
  )
}
