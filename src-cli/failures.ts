import { ORPCError } from '@orpc/client'
import { z } from 'zod'
import { BalletError, Refusal } from '../src-shared/refusal.ts'

export const EXIT_DONE = 0
export const EXIT_REFUSED = 1
export const EXIT_USAGE = 2

/** The command was not understood; nothing was asked of the host. */
export class UsageError extends BalletError {}

export type Failure = { refusal: Refusal; exitCode: number }

/** What went wrong, for people and for programs. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof UsageError) return { refusal: error.toRefusal(), exitCode: EXIT_USAGE }
  if (error instanceof BalletError) return { refusal: error.toRefusal(), exitCode: EXIT_REFUSED }
  if (error instanceof ORPCError) return describeAnswer(error)
  if (error instanceof Error && error.name === 'TimeoutError') {
    return refused({
      code: 'host.silent',
      message: 'The host did not answer in time. Whether the command was carried out is not known.',
      hint: 'Look at the thing itself (`show`, `list`) before you try again.',
    })
  }
  if (error instanceof Error && (error.name === 'AbortError' || isClosed(error))) {
    return refused({
      code: 'host.gone',
      message:
        'The host ended before it answered. Whether the command was carried out is not known.',
      hint: 'Start the host again and look at the thing itself (`show`, `list`) before you try again.',
    })
  }
  const message = error instanceof Error ? error.message : String(error)
  return refused({
    code: 'defect',
    message: `This should not have happened: ${message}`,
    hint: 'Please report it, with the command and the output of `ballet version`.',
  })
}

/** The connection had gone when a message was to be sent over it; the library has no code for that. */
const isClosed = ({ message }: Error) => message.includes('WebSocket is not open')

const InvalidInput = z.object({
  issues: z.array(z.object({ message: z.string(), path: z.array(z.unknown()).optional() })),
})

function describeAnswer(error: ORPCError<string, unknown>): Failure {
  const refusal = Refusal.safeParse(error.data)
  if (refusal.success) return refused(refusal.data)
  const invalid = InvalidInput.safeParse(error.data)
  if (error.code === 'BAD_REQUEST' && invalid.success) {
    return {
      refusal: { code: 'usage.value', message: describeIssues(invalid.data.issues) },
      exitCode: EXIT_USAGE,
    }
  }
  return refused({
    code: 'host.failed',
    message: `The host failed: ${error.message}`,
    hint: 'Its log, in the folder `logs` of the data folder, says more.',
  })
}

/** One sentence for what a schema did not like. */
export function describeIssues(
  issues: readonly { message: string; path?: readonly unknown[] | undefined }[],
): string {
  return issues
    .map(({ message, path = [] }) =>
      // The place in a list alone says nothing to whoever gave one thing after the other.
      path.every((part) => typeof part === 'number') ? message : `${path.join('.')}: ${message}`,
    )
    .join('; ')
}

function refused(refusal: Refusal): Failure {
  return { refusal, exitCode: EXIT_REFUSED }
}
