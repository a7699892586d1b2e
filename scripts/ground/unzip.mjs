import { createWriteStream } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

const FILE_TYPE = 0o170000
const SYMLINK = 0o120000

/**
 * Unpacks a zip with modes and symbolic links.
 *
 * @param {string} zip
 * @param {string} target
 * @param {object} [options]
 * @param {(name: string) => string | undefined} [options.place] where an entry goes below `target`;
 * `undefined` leaves it out
 * @param {(done: number, total: number) => void} [options.onProgress] in compressed bytes
 * @throws {Error} of yauzl, which also refuses names that would land outside `target`
 */
export async function unzip(zip, target, { place = (name) => name, onProgress = () => {} } = {}) {
  // Loaded here: before npm ci there is none.
  const yauzl = await import('yauzl')
  const file = await yauzl.openPromise(zip)
  let done = 0
  try {
    for await (const entry of file.eachEntry()) {
      done += entry.compressedSize
      const name = place(entry.fileName)
      if (name === undefined || entry.fileName.endsWith('/')) continue
      const path = join(target, name)
      await mkdir(dirname(path), { recursive: true })
      const mode = entry.externalFileAttributes >>> 16
      const content = await file.openReadStreamPromise(entry)
      if ((mode & FILE_TYPE) === SYMLINK) {
        /** @type {Buffer[]} */
        const chunks = []
        for await (const chunk of content) chunks.push(/** @type {Buffer} */ (chunk))
        await symlink(Buffer.concat(chunks).toString('utf8'), path)
      } else {
        await pipeline(content, createWriteStream(path, { mode: mode & 0o777 || 0o644 }))
      }
      onProgress(done, file.fileSize)
    }
  } finally {
    file.close()
  }
}
