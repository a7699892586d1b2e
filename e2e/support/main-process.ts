import { setTimeout as sleep } from 'node:timers/promises'
import type { ElectronApplication } from '@playwright/test'

type MainCode = Exclude<Parameters<ElectronApplication['evaluate']>[0], string>
/** What `electron` exports in the main process. */
type Modules = Parameters<MainCode>[0]

/** Of Playwright: the code has run, and its answer was lost to the garbage collection of the main process. */
const ANSWER_LOST = 'Resulting promise was garbage collected'

/** How long the main process may take to answer one question. */
const ANSWER_LIMIT_MS = 10_000

const TRIES = 5

/**
 * What the main process says. `ask` only reads, or does what may be done twice: it is asked again when its answer was
 * lost.
 * @throws Error of `ask`, or when no answer comes within the limit
 */
export async function readInMain<R, Arg = undefined>(
  app: Pick<ElectronApplication, 'evaluate'>,
  ask: (modules: Modules, arg: Arg) => R | Promise<R>,
  ...[arg]: Arg extends undefined ? [] : [arg: Arg]
): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTime(app.evaluate(ask as MainCode, arg) as Promise<R>)
    } catch (error) {
      if (tries === TRIES || !isAnswerLost(error)) throw error
    }
  }
}

/**
 * Does something in the main process, once. `act` gives no promise, so that it is done when its answer is lost.
 * @throws Error of `act`, or when no answer comes within the limit
 */
export async function doInMain(
  app: Pick<ElectronApplication, 'evaluate'>,
  act: (modules: Modules) => void,
): Promise<void> {
  try {
    await inTime(app.evaluate(act as MainCode, undefined))
  } catch (error) {
    if (!isAnswerLost(error)) throw error
  }
}

function isAnswerLost(error: unknown): boolean {
  return error instanceof Error && error.message.includes(ANSWER_LOST)
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = sleep(ANSWER_LIMIT_MS, undefined, { signal: over.signal }).then(
    () => {
      throw new Error(`The main process did not answer within ${ANSWER_LIMIT_MS / 1_000} s.`)
    },
    () => new Promise<never>(() => undefined),
  )
  try {
    return await Promise.race([answer, late])
  } finally {
    over.abort()
  }
}
