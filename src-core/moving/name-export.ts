import { randomBytes } from 'node:crypto'
import { lstat, open, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { SessionId } from '../../src-shared/ids.ts'
import { accept, BalletError, type Result, refuse } from '../../src-shared/refusal.ts'
import type { Committer } from '../commit/committer.ts'
import { changeOf, EXPORT_NAME } from '../decide/change.ts'
import { movedTo } from '../decide/moving.ts'
import type { Ids } from '../ports.ts'
import type { OutboxEntry } from '../storage/port.ts'

const Named = z.object({ session: SessionId, part: z.string(), file: z.string() })
type Named = z.infer<typeof Named>

/** What a file is called until its session has moved: it lies in the same folder, and nobody takes it for an export. */
export const partOf = (file: string): string => `${file}.${randomBytes(6).toString('hex')}.part`

/** Stored with the change that moves the session, so that the file gets its name although the host may end first. */
export const namingOf = (named: Named, ids: Ids): OutboxEntry => ({
  id: ids.uuid(),
  effect: EXPORT_NAME,
  data: { ...named },
})

export async function checkIsNew(file: string): Promise<Result<undefined>> {
  // Whatever else is wrong with the path, the agent that writes there finds out and says.
  const found = await lookAt(file).catch(() => 'none')
  if (found === 'none') return accept(undefined)
  return refuse(
    'export.exists',
    `${file} is there already.`,
    'Name a new file: nothing is written over.',
  )
}

/**
 * Gives the whole file its name, and answers with the path that it has then: the old one where somebody took the name
 * meanwhile, which the moved session says then. Rejects with `export.not-named`.
 */
export async function nameExport(
  { committer }: { committer: Committer },
  entry: OutboxEntry,
): Promise<Result<string>> {
  const { session, part, file } = Named.parse(entry.data)
  const name = await take({ part, file }).catch((error: unknown) => {
    throw notNamed({ part, file }, error)
  })
  await committer.transact(async (read, now) => {
    const row = name === file ? undefined : await read.row('session', session)
    const puts =
      row?.state === 'moved'
        ? [{ table: 'session' as const, row: { ...row, ...movedTo(name), updatedAt: now } }]
        : []
    return accept({ change: changeOf({ puts, outboxDone: [entry.id] }), answer: null })
  })
  return accept(name)
}

/** Each line may be the last one before the host ends. */
async function take({ part, file }: Omit<Named, 'session'>): Promise<string> {
  if ((await lookAt(part)) === 'none') {
    // The disk that it lies on may be away. Where its folder is there, an earlier try got so far, and where the file is
    // now is somebody else's business.
    await lstat(dirname(part))
    return file
  }
  const found = await lookAt(file)
  if (found === 'used') return part
  // An empty one is what an earlier try began with; there is nothing in it to write over.
  if (found === 'none') await writeFile(file, '', { flag: 'wx', mode: 0o600 })
  await rename(part, file)
  await syncFolder(dirname(file))
  return file
}

async function lookAt(path: string): Promise<'none' | 'empty' | 'used'> {
  try {
    const found = await lstat(path)
    return found.isFile() && found.size === 0 ? 'empty' : 'used'
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'none'
    throw error
  }
}

/** Makes a rename last. Windows cannot open a folder, and needs none of it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function notNamed({ part, file }: Omit<Named, 'session'>, cause: unknown): BalletError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new BalletError(
    {
      code: 'export.not-named',
      message: `The whole export is there, but is not called ${file} yet: ${why}`,
      hint: `It is called ${part} until then, and can be imported under that name too.`,
    },
    { cause },
  )
}
