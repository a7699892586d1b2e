import { createReadStream } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { LineFramer } from '../line-framing.ts'
import { ContentBlock } from './lines.ts'

/**
 * The file in which Claude Code keeps a conversation, `projects/<slug>/<conversation>.jsonl` in its configuration
 * folder. It is written up to a tenth of a second after the same lines were printed, under the same uuids.
 */

/** One row, as far as the driver reads it. */
export const TranscriptRow = z.looseObject({
  type: z.enum(['user', 'assistant']),
  uuid: z.string(),
  timestamp: z.string().optional(),
  isSidechain: z.boolean().optional(),
  isMeta: z.boolean().optional(),
  isCompactSummary: z.boolean().optional(),
  isApiErrorMessage: z.boolean().optional(),
  apiBlockIndex: z.number().optional(),
  toolUseResult: z.unknown().optional(),
  message: z.looseObject({
    id: z.string().optional(),
    model: z.string().optional(),
    content: z.union([z.string(), z.array(ContentBlock)]),
  }),
})
export type TranscriptRow = z.infer<typeof TranscriptRow>

/** A message that a running turn took: it is no row of its own, but an attachment to what came before. */
const SteeredRow = z.looseObject({
  type: z.literal('attachment'),
  attachment: z.looseObject({ type: z.literal('queued_command'), source_uuid: z.string() }),
})

/** A longer slug is cut and gets a hash, which differs between versions. */
const LONGEST_SLUG = 200

/**
 * Where the conversation is kept; null when no such file exists. `everywhere` looks into the folders of other
 * workspaces too.
 */
export async function locateTranscript(
  configFolder: string,
  cwd: string,
  conversation: string,
  options: { everywhere: boolean } = { everywhere: false },
): Promise<string | null> {
  const projects = join(configFolder, 'projects')
  // A folder that is gone is where it was.
  const slug = slugOf(await realpath(cwd).catch(() => cwd))
  const expected = join(projects, slug, `${conversation}.jsonl`)
  if (await exists(expected)) return expected
  if (!options.everywhere && slug.length <= LONGEST_SLUG) return null
  for (const folder of await listFolders(projects)) {
    const path = join(projects, folder, `${conversation}.jsonl`)
    if (await exists(path)) return path
  }
  return null
}

export function slugOf(path: string): string {
  return path.replaceAll(/[^A-Za-z0-9]/g, '-')
}

/**
 * Reads the rows of messages from a byte offset on, in order, one at a time; `onSteered` gets the uuid of each
 * message that a running turn took. Resolves with the number of rows that were too long to read. Rejects with the
 * system's error when the file cannot be read.
 */
export async function readRows(
  path: string,
  onRow: (row: TranscriptRow) => void,
  fromByte = 0,
  onSteered: (uuid: string) => void = () => undefined,
): Promise<{ unreadable: number }> {
  let unreadable = 0
  const framer = new LineFramer((line) => {
    if (line.kind === 'oversized') {
      unreadable += 1
      return
    }
    const row = parseRow(line.text)
    if (row === null) return
    if (row.type === 'attachment') onSteered(row.attachment.source_uuid)
    else onRow(row)
  })
  for await (const chunk of createReadStream(path, { start: fromByte })) {
    framer.push(chunk as Buffer)
  }
  framer.end()
  return { unreadable }
}

/** Bytes of the file; 0 when it does not exist yet. */
export async function transcriptSize(path: string | null): Promise<number> {
  if (path === null) return 0
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}

/**
 * How a user message with this uuid is in the part of the file that begins at the offset: as the `prompt` of a turn,
 * as what a turn took while it ran, or not at all.
 */
export async function holdsMessage(
  path: string,
  uuid: string,
  fromByte: number,
): Promise<'prompt' | 'steered' | null> {
  let found: 'prompt' | 'steered' | null = null
  await readRows(
    path,
    (row) => {
      if (row.type === 'user' && row.uuid === uuid) found = 'prompt'
    },
    fromByte,
    (steered) => {
      if (steered === uuid) found = 'steered'
    },
  )
  return found
}

/** Whether the file holds a user message with this uuid exactly once, looked at when the runtime had time to write. */
export async function holdsMessageOnce(
  path: string,
  uuid: string,
  delayMs: number,
): Promise<boolean> {
  await sleep(delayMs)
  let count = 0
  await readRows(path, (row) => {
    if (row.type === 'user' && row.uuid === uuid) count += 1
  })
  return count === 1
}

const READ_TYPE = /"type":"(?:user|assistant|queued_command)"/

function parseRow(text: string): TranscriptRow | z.infer<typeof SteeredRow> | null {
  // Most of a file are long rows of other types: they are not worth parsing.
  if (!READ_TYPE.test(text)) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A row that a kill cut in the middle. The runtime skips it too.
    return null
  }
  const row = z.union([TranscriptRow, SteeredRow]).safeParse(value)
  return row.success ? row.data : null
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

async function listFolders(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ENOTDIR'
}
