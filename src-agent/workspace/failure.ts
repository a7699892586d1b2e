import { BalletError, type Refusal } from '../../src-shared/refusal.ts'

/** The refusal behind anything that was thrown. `doing` names the work for errors that say nothing themselves. */
export function refusalOf(error: unknown, doing: string): Refusal {
  if (error instanceof BalletError) return error.toRefusal()
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const text = error instanceof Error ? error.message : String(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return {
      code: 'disk.full',
      message: `The disk is full while ${doing}: ${text}`,
      hint: 'Free some space, then try again. Nothing was removed.',
    }
  }
  return {
    code: 'agent.failed',
    message: `Something went wrong while ${doing}: ${text}`,
    hint: 'Nothing was removed. Try again; if it stays, the log of the host holds the details.',
  }
}

/** Runs it; whatever it rejects with is a `BalletError` then. */
export async function withRefusals<T>(doing: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof BalletError) throw error
    throw new BalletError(refusalOf(error, doing), { cause: error })
  }
}
