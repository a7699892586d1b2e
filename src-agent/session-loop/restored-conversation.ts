import { join } from 'node:path'
import { DAMAGED } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { fileOf, keyOf } from '../parking/kept-work.ts'
import { restoreSessionState } from '../parking/session-state.ts'
import type { Driver } from '../runtimes/driver.ts'
import { asStep, type LoopContext } from './context.ts'
import type { Conversation } from './conversation.ts'

/** With these nothing that a person could do brings the state back. With another key, or another Ballet, it opens. */
const LOST: ReadonlySet<string> = new Set([...DAMAGED, 'state.not-movable'])

/**
 * Brings the state of a parked session back to where the runtime looks for it; nothing where none is needed. Rejects
 * with `runtime.conversation-lost` when what was kept is of no use for good, with `state.wrong-key` and `state.version`
 * when it is not, and with what the system says.
 */
export async function restoreConversation(context: LoopContext, driver: Driver): Promise<void> {
  const { spec, plan, env, marker, report, scratchDir } = context
  const { parked, resume } = spec
  const state = parked?.work.state ?? null
  if (parked === null || state === null || state.conversation !== resume?.conversation) return
  // The runtime went on with it since, and has all of it.
  if (parked.restored) return
  try {
    await asStep(
      report,
      'state',
      async () => {
        const file = await fileOf(parked.work, parked, 'state')
        if (file === null) throw notAmongFiles()
        return restoreSessionState(driver, {
          ...{ conversation: state.conversation, file, key: keyOf(parked) },
          place: {
            cwd: plan.workspaceDir,
            env,
            executable: spec.runtimePath,
            scratchDir: join(scratchDir, 'restore'),
            marker,
          },
          scratch: join(scratchDir, 'state'),
        })
      },
      ({ files, runtimeVersion }) =>
        `${files.length === 1 ? '1 file' : `${files.length} files`} of version ${runtimeVersion}.`,
    )
  } catch (error) {
    const isLost = error instanceof BalletError && LOST.has(error.code)
    throw isLost ? conversationLost(error) : error
  }
}

/** Says that another version of the runtime goes on than the one that wrote the state. */
export function tellOtherVersion(
  { spec, report }: LoopContext,
  { runtimeVersion }: Pick<Conversation, 'runtimeVersion'>,
): void {
  const wrote = spec.parked?.work.state?.runtimeVersion ?? null
  if (wrote === null || runtimeVersion === null || wrote === runtimeVersion) return
  if (wrote === 'unknown' || runtimeVersion === 'unknown') return
  const text = `The conversation was written by version ${wrote} of the runtime, and goes on with ${runtimeVersion}.`
  report.notice('info', 'resume.version', text)
}

function conversationLost(cause: BalletError): BalletError {
  return new BalletError(
    {
      code: 'runtime.conversation-lost',
      message: `The conversation cannot be brought back: ${cause.message}`,
      hint: 'The workspace is restored and kept: a new conversation goes on with the work as it is.',
    },
    { cause },
  )
}

function notAmongFiles(): BalletError {
  return new BalletError({
    code: 'state.missing',
    message: 'The state of the session is not among its kept files.',
    hint: 'Put it back from a backup, or resume without it: a new conversation goes on with the work.',
  })
}
