import { createWriteStream } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { GroundError } from './errors.mjs'

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
 * @throws {GroundError} ZIP_UNSAFE for an entry that would land outside `target`
 */
export async function unzip(zip, target, { place = (name) => name, onProgress = () => {} } = {}) {
  // Loaded here: before npm ci there is none.
  const yauzl = await import('yauzl')
  const file = await yauzl.openPromise(zip)
  const base = resolve(target)
  let done = 0
  try {
    for await (const entry of file.eachEntry()) {
      done += entry.compressedSize
      const name = place(entry.fileName)
      if (name === undefined || entry.fileName.endsWith('/')) continue
      const path = join(base, name)
      if (!path.startsWith(base + sep)) {
        throw new GroundError(
          'ZIP_UNSAFE',
          `${zip} holds ${entry.fileName}, which would be written outside its folder.`,
          'Do not use this file; fetch it again from its source.',
        )
      }
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
