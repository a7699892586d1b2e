import { createHash, randomBytes } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import {
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * @param {string | Buffer} content
 * @returns {string} hexadecimal
 */
export const sha256 = (content) => createHash('sha256').update(content).digest('hex')

/**
 * Digest of a file without holding it in memory.
 * @param {string} path
 * @param {'sha256' | 'sha512'} algorithm
 * @param {'hex' | 'base64'} encoding
 * @returns {Promise<string>}
 */
export async function digestFile(path, algorithm = 'sha256', encoding = 'hex') {
  const hash = createHash(algorithm)
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk)
  return hash.digest(encoding)
}

/**
 * All files below a folder, as paths relative to it with forward slashes, sorted.
 * @param {string} folder
 * @param {(relative: string) => boolean} [keep] also asked for folders, with a trailing slash
 * @returns {Promise<string[]>}
 */
export async function listFiles(folder, keep = () => true) {
  /** @type {string[]} */
  const found = []
  /** @param {string} prefix */
  const walk = async (prefix) => {
    for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
      const path = `${prefix}${entry.name}`
      if (entry.isDirectory()) {
        if (keep(`${path}/`)) await walk(`${path}/`)
      } else if (keep(path)) found.push(path)
    }
  }
  await walk('')
  return found.sort()
}

/**
 * One hash over names and contents of files; a file that is missing counts as such.
 * @param {string} root
 * @param {readonly string[]} paths relative to `root`
 * @returns {Promise<string>}
 */
export async function hashFiles(root, paths) {
  const hash = createHash('sha256')
  const contents = await Promise.all(paths.map((path) => readIfThere(join(root, path))))
  paths.forEach((path, index) => {
    const content = contents[index]
    hash.update(`${path}\0${content ? sha256(content) : 'missing'}\n`)
  })
  return hash.digest('hex')
}

/**
 * @param {string} path
 * @returns {Promise<Buffer | undefined>}
 */
export async function readIfThere(path) {
  try {
    return await readFile(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * A JSON file, or `undefined` where it is missing or does not parse: what a stamp does not say was
 * not done.
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function readJson(path) {
  const content = await readIfThere(path)
  if (content === undefined) return undefined
  try {
    return JSON.parse(content.toString('utf8'))
  } catch {
    return undefined
  }
}

/**
 * Writes beside and renames, so that a reader sees the old or the new content and nothing else.
 * @param {string} path
 * @param {string | Buffer} content
 */
export async function writeAtomic(path, content) {
  await mkdir(dirname(path), { recursive: true })
  const beside = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  await writeFile(beside, content)
  await rename(beside, path)
}

/**
 * @param {string} path
 * @param {unknown} value
 */
export const writeJson = (path, value) => writeAtomic(path, `${JSON.stringify(value, null, 2)}\n`)

/**
 * Puts a finished folder in place of what is there. Between the two renames there may be nothing at
 * `target`; whoever looks then finds it missing, never half made.
 * @param {string} made
 * @param {string} target
 * @param {string} scratch a folder whose leftovers somebody sweeps; all three on one file system
 */
export async function replaceFolder(made, target, scratch) {
  await mkdir(dirname(target), { recursive: true })
  const old = join(scratch, `old-${randomBytes(6).toString('hex')}`)
  try {
    await rename(target, old)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
  }
  await rename(made, target)
  await rm(old, { recursive: true, force: true })
}

/**
 * What a folder holds: for each file its SHA-256, for each symbolic link its target.
 * @typedef {Record<string, string>} TreeDigest
 */

/**
 * @param {string} folder
 * @returns {Promise<TreeDigest>}
 */
export async function digestTree(folder) {
  /** @type {TreeDigest} */
  const digest = {}
  for (const path of await listFiles(folder)) {
    const full = join(folder, path)
    const isLink = (await lstat(full)).isSymbolicLink()
    digest[path] = isLink ? `-> ${await readlink(full)}` : await digestFile(full)
  }
  return digest
}

/**
 * Copies a tree; by hard links where the file system has them, since both sides are only ever
 * replaced as a whole.
 * @param {string} from
 * @param {string} to
 * @param {TreeDigest} digest what to copy
 */
export async function copyTree(from, to, digest) {
  for (const folder of new Set(Object.keys(digest).map((path) => dirname(path)))) {
    await mkdir(join(to, folder), { recursive: true })
  }
  for (const [path, content] of Object.entries(digest)) {
    if (content.startsWith('-> ')) await symlink(content.slice(3), join(to, path))
    else {
      try {
        await link(join(from, path), join(to, path))
      } catch {
        // Another file system, or one without links: where more is wrong, the copy says what.
        await copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE)
      }
    }
  }
}
