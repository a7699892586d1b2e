import { BalletError } from '../../../src-shared/refusal.ts'

export const RUN_IT =
  'Run it in a terminal in the same folder to see whether it works there, then try again.'

export function startFailed(title: string, why: string): BalletError {
  return new BalletError({
    code: 'runtime.start-failed',
    message: `${title} did not get ready: ${why}`,
    hint: RUN_IT,
  })
}
