import { stat } from 'node:fs/promises'
import { BalletError } from '../../src-shared/refusal.ts'
import type { DriverSpec } from './driver.ts'
import { describeExit, type Exit } from './line-process.ts'

/** The runtime certainly did not get a message. `title` is what people call it. */
export function notWritten(title: string, why: string): BalletError {
  return new BalletError({
    code: 'runtime.not-written',
    message: `${title} did not take the message: ${why}.`,
    hint: 'The message stays queued and is delivered when the session goes on.',
  })
}

/** Code of the refusal of a start which something else than Ballet or the runtime ended, so that another may go well. */
export const START_KILLED = 'runtime.start-killed'

/** The runtime ended in its start. `said`: what it printed, which `hint` is made for. */
export function endedInStart(
  title: string,
  exit: Exit,
  said: string,
  hint: (detail: string) => string,
): BalletError {
  const message = describeExit(title, exit, said)
  const code = exit.signal === null ? 'runtime.start-failed' : START_KILLED
  return new BalletError({ code, message, hint: hint(message) })
}

/** The runtime does not have the conversation that should go on. */
export function conversationLost(why: string): BalletError {
  return new BalletError({
    code: 'runtime.conversation-lost',
    message: `The conversation cannot be resumed: ${why}`,
    hint: 'The workspace is kept. Start the ticket again: a new conversation goes on with the work as it is.',
  })
}

/** An answer to a permission request that is not open. */
export function requestGone(): BalletError {
  return new BalletError({
    code: 'request.gone',
    message: 'The runtime does not wait for this answer any more.',
    hint: 'Look at the timeline: the request was answered or withdrawn.',
  })
}

/** Why the system did not start a program. `which` is what `ballet doctor` tells of; the runtime itself by default. */
export async function cannotStart(
  title: string,
  { cwd, executable }: Pick<DriverSpec, 'cwd' | 'executable'>,
  error: unknown,
  which = title,
): Promise<BalletError> {
  const why = error instanceof Error ? error.message : String(error)
  const isThere = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isThere) {
    return new BalletError({
      code: 'runtime.start-failed',
      message: `The workspace ${cwd} is not there.`,
      hint: 'Start the ticket again: a new workspace is made.',
    })
  }
  return new BalletError(
    {
      code: why.startsWith('spawn') ? 'runtime.not-found' : 'runtime.start-failed',
      message: `${title} at ${executable} cannot be started: ${why}`,
      hint: `Run \`ballet doctor\` to see which ${which} Ballet finds.`,
    },
    { cause: error },
  )
}
