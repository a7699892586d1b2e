import { placeOf } from './row-makers.ts'
import type { Row, StepEvent, StepsRow } from './rows.ts'

const sagaOf = (event: StepEvent): StepsRow['saga'] =>
  event.kind === 'park.step' ? 'park' : 'resume'

/** The row that begins with a step. */
export function stepsRow(event: StepEvent): StepsRow {
  return {
    ...placeOf(`seq:${event.seq}`, event),
    kind: 'steps',
    saga: sagaOf(event),
    steps: [event],
  }
}

/** The row with one step more, or one further; null where the step belongs to another parking or resuming. */
export function withStep(row: Row | undefined, event: StepEvent): StepsRow | null {
  if (row?.kind !== 'steps' || row.saga !== sagaOf(event)) return null
  const known = row.steps.findIndex(({ step }) => step === event.step)
  if (known === -1) return { ...row, steps: [...row.steps, event] }
  // A step that was over is begun again: all of it is done once more.
  if (row.steps[known]?.status !== 'started') return null
  return { ...row, steps: row.steps.map((each, at) => (at === known ? event : each)) }
}

/** How all of it stands, and how long it took so far; the steps are told with their durations. */
export function sagaState({ steps }: Pick<StepsRow, 'steps'>): {
  status: StepEvent['status']
  durationMs: number
} {
  const durationMs = steps.reduce((sum, step) => sum + (step.durationMs ?? 0), 0)
  const status = steps.some((step) => step.status === 'started')
    ? 'started'
    : steps.at(-1)?.status === 'failed'
      ? 'failed'
      : 'done'
  return { status, durationMs }
}
