import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { titleOfRuntime } from '../../src-shared/runtimes.ts'
import type { Driver, RuntimePlace } from '../runtimes/driver.ts'
import { withRefusals } from '../workspace/failure.ts'
import {
  packState,
  type StateArchive,
  type StateManifest,
  unpackState,
  verifyFiles,
} from './state-archive.ts'

export type SessionStatePlan = {
  /** The runtime's own id. */
  conversation: string
  place: RuntimePlace
  /** The sealed state. */
  file: string
  key: Uint8Array
  /** A folder for files on the way, of this work alone; removed afterwards. */
  scratch: string
}

/**
 * Stores what a runtime keeps of a conversation, sealed and read back. The runtime has ended. Rejects with
 * `state.missing`, `state.changing`, `state.not-movable`, and what the system says.
 */
export function captureSessionState(
  driver: Driver,
  runtimeVersion: string,
  plan: SessionStatePlan,
  signal: AbortSignal,
): Promise<StateArchive> {
  return withRefusals('storing the state of the session', async () => {
    const { conversation } = plan
    const files = await stateOf(driver).capture(conversation, plan.place)
    const facts = { runtime: driver.runtime, runtimeVersion, conversation }
    return packState(files, facts, plan, signal)
  })
}

/**
 * Brings a stored conversation to where the runtime looks for it when it runs in `plan.place`, and checks it there,
 * file by file. Safe to repeat. The runtime's own proof is the driver's `resume`. Rejects with `state.…`.
 */
export function restoreSessionState(
  driver: Driver,
  plan: SessionStatePlan,
): Promise<StateManifest> {
  return withRefusals('restoring the state of the session', () => bringState(driver, plan))
}

async function bringState(driver: Driver, plan: SessionStatePlan): Promise<StateManifest> {
  const { conversation, place, scratch } = plan
  const state = stateOf(driver)
  try {
    const stored = await unpackState(plan.file, plan.key, join(scratch, 'state'))
    const { manifest } = stored
    if (manifest.runtime !== driver.runtime || manifest.conversation !== conversation) {
      throw new BalletError({
        code: 'state.corrupt',
        message: `The stored state is of ${manifest.runtime}'s conversation ${manifest.conversation}, not of ${driver.runtime}'s ${conversation}.`,
        hint: 'Resume without it: the session begins a new conversation.',
      })
    }
    const restored = await state.restore(conversation, stored.files, place)
    await verifyFiles(restored, manifest)
    return manifest
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function stateOf(driver: Driver): NonNullable<Driver['state']> {
  if (driver.state !== undefined) return driver.state
  throw new BalletError({
    code: 'state.not-movable',
    message: `Not kept: conversations of ${titleOfRuntime(driver.runtime)} cannot be moved to another machine or workspace.`,
    hint: 'Resuming begins a new conversation with a summary of this one.',
  })
}
