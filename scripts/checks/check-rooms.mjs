import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { join, posix } from 'node:path'
import { listFiles, readIfThere } from '../ground/files.mjs'
import { importsOf } from './imports.mjs'
import { ROOMS, TEST_PACKAGES, TEST_ROOMS } from './rooms.mjs'

/** @typedef {import('./rooms.mjs').Room} Room */

const SOURCE = /\.(ts|tsx|mts|cts|mjs|cjs|js|jsx)$/
// Tests, and what only they use.
const TEST = /(\.(test|spec)\.tsx?|\/(test-[^/]+|testing\/.*)\.tsx?)$/
// Files that a bundler turns into a value: they depend on nothing.
const ASSET = /\.(css|svg|png|json|woff2|html|md)(\?\w+)?$/

/**
 * Every dependency of every room against the allow-list.
 *
 * @param {string} root
 * @param {Record<string, Room>} [rooms]
 * @returns {Promise<{ files: number, problems: string[] }>} one line a problem
 */
export async function checkRooms(root, rooms = ROOMS) {
  /** @type {string[]} */
  const problems = []
  let files = 0
  for (const name of Object.keys(rooms)) {
    const sources = await sourcesOf(join(root, name))
    if (sources.length === 0) problems.push(`${name}: the room is missing, or holds no source`)
    files += sources.length
    for (const path of sources) {
      const content = await readIfThere(join(root, name, path))
      if (content === undefined) continue
      problems.push(...checkFile(`${name}/${path}`, content.toString('utf8'), name, rooms))
    }
  }
  for (const entry of await readdir(root, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name.startsWith('src-') && !(entry.name in rooms)) {
      problems.push(`${entry.name}: no such room in scripts/checks/rooms.mjs`)
    }
  }
  return { files, problems }
}

/** @param {string} folder */
async function sourcesOf(folder) {
  if (!existsSync(folder)) return []
  return listFiles(folder, (path) => path.endsWith('/') || SOURCE.test(path))
}

/**
 * @param {string} path from the root, with forward slashes
 * @param {string} text
 * @param {string} roomName
 * @param {Record<string, Room>} rooms
 * @returns {string[]}
 */
export function checkFile(path, text, roomName, rooms = ROOMS) {
  const room = rooms[roomName]
  if (!room) return [`${path}: no such room in scripts/checks/rooms.mjs`]
  /** @type {import('./imports.mjs').Import[]} */
  let imports
  try {
    imports = importsOf(path, text)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
  return imports.flatMap(({ source, line }) => {
    const reason = refusal(source, path, roomName, room, TEST.test(path))
    return reason ? [`${path}:${line}: ${reason}`] : []
  })
}

/**
 * Why a dependency is not allowed, or `undefined` where it is.
 *
 * @param {string | undefined} source
 * @param {string} path
 * @param {string} roomName
 * @param {Room} room
 * @param {boolean} isTest
 * @returns {string | undefined}
 */
function refusal(source, path, roomName, room, isTest) {
  if (source === undefined) {
    return posix.relative(roomName, path) in (room.computed ?? {})
      ? undefined
      : 'a dependency that only running the program would tell'
  }
  if (source.startsWith('.')) {
    const target = posix.join(posix.dirname(path), source)
    const [targetRoom = '', ...rest] = target.split('/')
    if (targetRoom === roomName) return undefined
    if (targetRoom === 'resources' && ASSET.test(target)) return undefined
    const allowed = room.rooms[targetRoom] ?? (isTest ? testRoom(targetRoom) : undefined)
    if (allowed === undefined) return `${roomName} may not import ${target}`
    if (allowed === 'all' || allowed.includes(rest.join('/'))) return undefined
    return `${roomName} may import only ${allowed.join(', ')} of ${targetRoom}, not ${target}`
  }
  if (source.startsWith('node:') || source === 'node' || builtinModules.includes(source)) {
    if (room.node || isTest) return undefined
    return `${roomName} may not use ${source} of Node`
  }
  const name = source
    .split('/')
    .slice(0, source.startsWith('@') ? 2 : 1)
    .join('/')
  if (room.packages.includes(name)) return undefined
  if (isTest && TEST_PACKAGES.includes(name)) return undefined
  return `${roomName} may not import ${source}: it is not in scripts/checks/rooms.mjs`
}

/** @param {string} name */
const testRoom = (name) => (name in TEST_ROOMS ? /** @type {const} */ ('all') : undefined)
