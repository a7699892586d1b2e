import { resolve } from 'node:path'
import { BalletError } from '../src-shared/refusal.ts'
import type { Client, Connection } from './connection.ts'
import { dataFolder } from './data-folder.ts'
import { UsageError } from './failures.ts'
import { createPrinter, type Printer } from './output.ts'
import type { World } from './world.ts'

/** How long a command waits for its answer; looking at a remote and pushing have limits of their own below it. */
export const ANSWER_LIMIT_MS = 180_000

/** How long a command waits for a session to end: pushing a lot over a slow line takes its time. */
export const END_LIMIT_MS = 600_000

export type GlobalOptions = { data?: string; json?: boolean }

/** What every command works with. */
export type Context = {
  world: World
  print: Printer
  dataDir: string
  /** Whether the data folder was named, by option or environment, or is the application's own. */
  namesFolder: boolean
  connect(): Promise<Connection>
  /** A client of the host and the limit for one call. */
  ask<T>(call: (client: Client, limit: { signal: AbortSignal }) => Promise<T>): Promise<T>
  close(): void
}

export function createContext(world: World, options: GlobalOptions): Context {
  const dataDir = dataFolder(options.data, world)
  let connection: Promise<Connection> | undefined
  const connect = () => {
    connection ??= world.connect(dataDir)
    return connection
  }
  return {
    world,
    dataDir,
    namesFolder: (options.data ?? world.env.BALLET_DATA ?? '') !== '',
    print: createPrinter(world, options.json === true),
    connect,
    ask: async (call) =>
      call((await connect()).client, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) }),
    close: () => {
      // A connection that could not be made has been told of where it was asked for.
      connection?.then(
        (open) => open.close(),
        () => undefined,
      )
    },
  }
}

/** An agent must not steer sessions, its own least of all; what a session started carries its marker. */
export function refuseInsideSession(world: Pick<World, 'env'>): void {
  if (!world.env.BALLET_SESSION) return
  throw new BalletError({
    code: 'caller.session',
    message: 'This was started by a session of Ballet, and sessions may only look, not steer.',
    hint: 'Run it from a terminal of your own.',
  })
}

/** A text that says something. */
export function notEmpty(text: string): string {
  if (text.trim() !== '') return text
  throw new UsageError({
    code: 'usage.value',
    message: 'The text is empty.',
    hint: 'Say something, or pipe it in and give - as the text.',
  })
}

/** The text of an argument or option; `-` stands for the standard input. */
export async function textOrStdin(text: string, world: World, limit: number): Promise<string> {
  return notLonger(text === '-' ? await world.readStdin(limit) : text, limit)
}

function notLonger(text: string, limit: number): string {
  if (text.length <= limit) return text
  throw new UsageError({
    code: 'usage.value',
    message: `The text has ${text.length} characters; ${limit} is the most.`,
    hint: 'Put the rest into a file of the repository and name the file.',
  })
}

/** Like `textOrStdin`; a text that begins with `@` names a file that holds it. */
export async function textOfFile(given: string, world: World, limit: number): Promise<string> {
  if (!given.startsWith('@')) return textOrStdin(given, world, limit)
  const path = given.slice(1)
  let bytes: Uint8Array
  try {
    bytes = await world.readFile(resolve(world.cwd, path))
  } catch (error) {
    throw new UsageError(
      {
        code: 'usage.value',
        message: `The file ${JSON.stringify(path)} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        hint: 'Name a file that can be read, or give the text itself.',
      },
      { cause: error },
    )
  }
  return notLonger(new TextDecoder().decode(bytes), limit)
}
