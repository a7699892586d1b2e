import { open, readdir, realpath, rm, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { BalletError } from '../../../src-shared/refusal.ts'
import type { KeptConversation, RuntimePlace, StateFile } from '../driver.ts'
import { putInPlace } from '../put-in-place.ts'
import { configFolder, launchEnvironment } from './launch.ts'
import { locateTranscript, slugOf } from './transcript.ts'

/**
 * Where Claude Code keeps a conversation, measured: its transcript, `projects/<slug>/<conversation>.jsonl`, is all
 * that a resume needs. The folder of the same name beside it holds long outputs that the transcript only names
 * (`tool-results/`) and the transcripts of subagents. Nothing else of the configuration folder belongs to it.
 */
const FOLDERS = ['tool-results', 'subagents']
/** Beside `projects`, by the conversation: no resume needs them, and they go with it. */
const BESIDE = ['file-history', 'session-env']
/** Names are as long as this in every version. */
const CUT_SLUG = 180
/** The folder stands in one of the first rows. */
const HEAD_BYTES = 64 * 1024

/** Rejects with `state.missing` when the runtime has no record of the conversation. */
export async function captureState(
  conversation: string,
  place: RuntimePlace,
): Promise<StateFile[]> {
  const folder = configFolder(launchEnvironment(place.env))
  const transcript = await locateTranscript(folder, place.cwd, mustBeId(conversation), {
    everywhere: true,
  })
  if (transcript === null) {
    throw new BalletError({
      code: 'state.missing',
      message: `Claude Code has no record of the conversation ${conversation} in ${folder}.`,
      hint: 'It never got a message, or its record was removed. The session goes on in a new conversation.',
    })
  }
  const beside = join(dirname(transcript), conversation)
  const found: StateFile[] = [{ path: transcript, name: `${conversation}.jsonl` }]
  for (const name of FOLDERS) {
    await addFiles(join(beside, name), `${conversation}/${name}`, found)
  }
  return found
}

async function addFiles(folder: string, name: string, found: StateFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await addFiles(path, `${name}/${entry.name}`, found)
    else if (entry.isFile()) found.push({ path, name: `${name}/${entry.name}` })
  }
}

/**
 * Puts the files where the runtime looks for them when it runs in `place.cwd`, and gives where they are now; the
 * transcript comes last, so that there is no conversation until all of it is there. A record of the same conversation
 * that stands there is replaced: what was stored is what the session knows of it.
 */
export async function restoreState(
  conversation: string,
  files: readonly StateFile[],
  place: RuntimePlace,
): Promise<StateFile[]> {
  const folder = configFolder(launchEnvironment(place.env))
  const slug = slugOf(await realpath(place.cwd))
  const target = join(folder, 'projects', slug)
  const transcript = `${mustBeId(conversation)}.jsonl`
  const names = new Set(files.map(({ name }) => name))
  const isOwn = [...names].every(
    (name) => name === transcript || name.startsWith(`${conversation}/`),
  )
  if (!isOwn || !names.has(transcript)) {
    throw new BalletError({
      code: 'state.corrupt',
      message: `The stored state does not belong to the conversation ${conversation}.`,
      hint: 'Resume without it: the session begins a new conversation.',
    })
  }
  const restored: StateFile[] = []
  const isLast = ({ name }: StateFile) => name === transcript
  for (const file of [...files.filter((each) => !isLast(each)), ...files.filter(isLast)]) {
    const path = join(target, file.name)
    await putInPlace(file.path, path)
    restored.push({ path, name: file.name })
  }
  return restored
}

/** Removes what the runtime keeps of a conversation that ran below a folder. Gives how many files that were. */
export async function removeState(conversation: string, place: RuntimePlace): Promise<number> {
  const id = mustBeId(conversation)
  let count = 0
  for (const folder of await foldersBelow(place)) {
    const inside: StateFile[] = []
    await addFiles(join(folder, id), id, inside)
    const transcript = join(folder, `${id}.jsonl`)
    const isOurs = inside.length > 0 || (await isFile(transcript))
    // The transcript proves that the others are of the same conversation: it goes last.
    if (isOurs) count += await removeBeside(id, place)
    const isThere = await rm(transcript).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Error && 'code' in error && isNotThere(error.code)) return false
        throw error
      },
    )
    if (!isThere && inside.length === 0) continue
    await rm(join(folder, id), { recursive: true, force: true })
    count += inside.length + (isThere ? 1 : 0)
  }
  return count
}

async function removeBeside(id: string, { env }: RuntimePlace): Promise<number> {
  const found: StateFile[] = []
  for (const name of BESIDE) {
    const folder = join(configFolder(launchEnvironment(env)), name, id)
    await addFiles(folder, id, found)
    await rm(folder, { recursive: true, force: true })
  }
  return found.length
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile(),
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && isNotThere(error.code)) return false
      throw error
    },
  )
}

/** The conversations that say in their transcripts that they ran below the folder. */
export async function listStates(place: RuntimePlace): Promise<KeptConversation[]> {
  const below = await realPath(place.cwd)
  const found: KeptConversation[] = []
  for (const folder of await foldersBelow(place)) {
    for (const name of await readdir(folder).catch(() => [])) {
      const conversation = /^([0-9a-f-]{36})\.jsonl$/.exec(name)?.[1]
      if (conversation === undefined) continue
      const path = join(folder, name)
      const ran = await folderOf(path)
      if (ran === null || !ran.startsWith(`${below}${sep}`)) continue
      const { size: bytes, mtimeMs } = await stat(path)
      found.push({ conversation, path, bytes, ageMs: Date.now() - mtimeMs, ran })
    }
  }
  return found
}

/** The folders of the configuration in which conversations are kept that ran below `cwd`. */
async function foldersBelow({ cwd, env }: RuntimePlace): Promise<string[]> {
  const projects = join(configFolder(launchEnvironment(env)), 'projects')
  // A long name is cut, and gets a hash.
  const slug = slugOf(await realPath(cwd)).slice(0, CUT_SLUG)
  const names = await readdir(projects).catch(() => [])
  const isBelow = (name: string) => name === slug || name.startsWith(`${slug}-`)
  return names
    .filter((name) => (slug.length === CUT_SLUG ? name.startsWith(slug) : isBelow(name)))
    .map((name) => join(projects, name))
}

/** A folder that is gone is where it was. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}

/** What the first rows of a transcript say of where it was written; null when they do not. */
async function folderOf(transcript: string): Promise<string | null> {
  const handle = await open(transcript, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    const quoted = /"cwd":("(?:[^"\\]|\\.)*")/.exec(buffer.toString('utf8', 0, bytesRead))?.[1]
    const value: unknown = quoted === undefined ? null : JSON.parse(quoted)
    return typeof value === 'string' ? value : null
  } finally {
    await handle.close()
  }
}

function isNotThere(code: unknown): boolean {
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** It becomes part of a path. */
function mustBeId(conversation: string): string {
  if (/^[A-Za-z0-9-]+$/.test(conversation)) return conversation
  throw new RangeError(`not the id of a conversation: ${JSON.stringify(conversation)}`)
}
