import { open, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { KeptConversation, RuntimePlace, StateFile } from '../driver.ts'
import { programsNamed } from '../find-program.ts'
import { putInPlace } from '../put-in-place.ts'
import { runBriefly } from '../run-briefly.ts'
import { codexHome, launchEnvironment } from './launch.ts'
import { conversationOf, locateRecord, recordsBelow } from './record.ts'

/**
 * Where Codex keeps a conversation, measured: its record `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` is all that a
 * resume needs, also in another configuration folder and workspace. Its databases are an index that it makes anew; they
 * hold the absolute path of the record, so that they must not be moved.
 */
const NAME = /^sessions\/\d{4}\/\d{2}\/\d{2}\/(rollout-[^/]+\.jsonl)$/
/** The folder of the beginning stands in the first row, that of the last turn near the end. */
const HEAD_BYTES = 256 * 1_024
const TAIL_BYTES = 1_024 * 1_024
const FORGET_LIMIT_MS = 20_000

/** Rejects with `state.missing` when there is no record of the conversation. */
export async function captureState(
  conversation: string,
  place: RuntimePlace,
): Promise<StateFile[]> {
  const home = homeOf(place)
  const path = await locateRecord(home, conversation)
  if (path === null) {
    throw new BalletError({
      code: 'state.missing',
      message: `Codex has no record of the conversation ${conversation} in ${home}.`,
      hint: 'It never got a message, or its record was removed. The session goes on in a new conversation.',
    })
  }
  return [{ path, name: relative(home, path).split(sep).join('/') }]
}

/** Puts the record where Codex looks for it. One of the same conversation that stands there is replaced. */
export async function restoreState(
  conversation: string,
  files: readonly StateFile[],
  place: RuntimePlace,
): Promise<StateFile[]> {
  const [file] = files
  const name = file === undefined ? undefined : NAME.exec(file.name)?.[1]
  const isOwn = name !== undefined && conversationOf(name) === conversation
  if (file === undefined || files.length > 1 || !isOwn) {
    throw new BalletError({
      code: 'state.corrupt',
      message: `The stored state is not that of Codex's conversation ${conversation}.`,
      hint: 'Resume without it: the session begins a new conversation.',
    })
  }
  const path = join(homeOf(place), ...file.name.split('/'))
  await putInPlace(file.path, path)
  return [{ path, name: file.name }]
}

/**
 * Removes the record of a conversation that ran below a folder, and what the databases hold of it, which only the
 * program itself can do: where there is none that works, they keep its messages. Gives how many files that were.
 */
export async function removeState(conversation: string, place: RuntimePlace): Promise<number> {
  const path = await locateRecord(homeOf(place), conversation)
  if (path === null) return 0
  const below = await realPath(place.cwd)
  if ((await foldersOf(path)).every((ran) => !isBelow(ran, below))) return 0
  await forget(conversation, place)
  await rm(path, { force: true })
  return 1
}

/** Tells `onLeft` where the databases keep what they have. */
async function forget(
  conversation: string,
  { executable, env, scratchDir, onLeft }: RuntimePlace,
): Promise<void> {
  const tell = (why: string) =>
    onLeft?.(
      `The databases of Codex keep what they hold of the conversation ${conversation}: ${why}`,
    )
  const program = executable ?? (await programsNamed('codex', env))[0]
  if (program === undefined) return tell('no Codex was found that could remove it.')
  const args = ['delete', '--force', conversation]
  const cwd = await realpath(scratchDir).catch(() => tmpdir())
  try {
    const options = { cwd, env: launchEnvironment(env), limitMs: FORGET_LIMIT_MS }
    const run = await runBriefly(program, args, options)
    if (run.exitCode === 0) return
    const said = (run.stderr || run.stdout).trim().slice(-300)
    tell(run.timedOut ? `\`codex delete\` took longer than ${FORGET_LIMIT_MS / 1_000} s.` : said)
  } catch (error) {
    // It cannot be started: the record goes all the same.
    tell(error instanceof Error ? error.message : String(error))
  }
}

/** The conversations that say in their records that they ran below the folder. */
export async function listStates(place: RuntimePlace): Promise<KeptConversation[]> {
  const below = await realPath(place.cwd)
  const found: KeptConversation[] = []
  for (const path of await recordsBelow(join(homeOf(place), 'sessions'))) {
    const conversation = conversationOf(path)
    const ran = (await foldersOf(path)).find((folder) => isBelow(folder, below))
    if (conversation === null || ran === undefined) continue
    const { size: bytes, mtimeMs } = await stat(path)
    found.push({ conversation, path, bytes, ageMs: Date.now() - mtimeMs, ran })
  }
  return found
}

function homeOf({ env }: RuntimePlace): string {
  return codexHome(launchEnvironment(env))
}

/** A folder that is gone is where it was. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

function isBelow(folder: string, root: string): boolean {
  return folder.startsWith(`${root}${sep}`)
}

/** Where a conversation ran: the folder of its last turn, and the one in which it began. */
async function foldersOf(record: string): Promise<string[]> {
  const handle = await open(record, 'r')
  try {
    const { size } = await handle.stat()
    const read = async (from: number, bytes: number) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, from)
      return buffer.toString('utf8', 0, bytesRead)
    }
    const tail = await read(Math.max(0, size - TAIL_BYTES), TAIL_BYTES)
    const turns = tail.split('\n').filter((row) => row.includes('"type":"turn_context"'))
    const rows = [turns.at(-1), (await read(0, HEAD_BYTES)).split('\n', 1)[0]]
    return rows.flatMap((row) => cwdIn(row ?? '') ?? [])
  } finally {
    await handle.close()
  }
}

/** The first folder that a row names; the row may be cut. */
function cwdIn(row: string): string | null {
  const quoted = /"cwd":("(?:[^"\\]|\\.)*")/.exec(row)?.[1]
  const value: unknown = quoted === undefined ? null : JSON.parse(quoted)
  return typeof value === 'string' ? value : null
}
