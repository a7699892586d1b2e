import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptFile } from '../../src-shared/parking.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import type { KeptFiles, Paths } from '../ports.ts'

/** The folders of kept files in a data folder. */
export function keptFiles({ kept }: Pick<Paths, 'kept'>): KeptFiles {
  return {
    verify: async (session, files) => {
      for (const file of files) {
        const found = await verifyOne(join(kept(session), file.name), file)
        if (!found.ok) return found
      }
      return accept(undefined)
    },
    remove: async (session, names) => {
      const folder = kept(session)
      if (names === null) await rm(folder, { recursive: true, force: true })
      else for (const name of names) await rm(join(folder, name), { force: true })
    },
  }
}

/** In pieces, so that the host does other things between them. */
async function verifyOne(path: string, { bytes, sha256 }: KeptFile): Promise<Result<undefined>> {
  const hash = createHash('sha256')
  let size = 0
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1_024 })) {
      const piece = chunk as Buffer
      hash.update(piece)
      size += piece.length
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return refuse('kept.unreadable', `The kept file ${path} cannot be read: ${why}.`, CHECK_DISK)
  }
  if (size === bytes && hash.digest('hex') === sha256) return accept(undefined)
  return refuse('kept.corrupt', `The kept file ${path} is not what was written to it.`, CHECK_DISK)
}

const CHECK_DISK = 'Check the disk that the data folder lies on.'
