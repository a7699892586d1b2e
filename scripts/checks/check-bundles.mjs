import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { importsOf } from './imports.mjs'

/** Packages that the programs which run without Electron must not reach. */
const FORBIDDEN = ['electron']

/**
 * Walks each built program through its chunks and looks at everything that they import.
 *
 * @param {string} folder
 * @param {readonly string[]} programs file names in it
 * @returns {Promise<{ chunks: number, problems: string[] }>}
 */
export async function checkBundles(folder, programs) {
  /** @type {string[]} */
  const problems = []
  const seen = new Set()
  for (const program of programs) {
    const queue = [program]
    const walked = new Set()
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      if (walked.has(name)) continue
      walked.add(name)
      seen.add(name)
      if (!existsSync(join(folder, name))) {
        problems.push(`${program}: ${name} is missing`)
        continue
      }
      for (const { source } of importsOf(name, await readFile(join(folder, name), 'utf8'))) {
        if (source === undefined) continue
        if (source.startsWith('.')) queue.push(posix.join(posix.dirname(name), source))
        else if (FORBIDDEN.some((one) => source === one || source.startsWith(`${one}/`))) {
          problems.push(`${program}: ${name} imports ${source}`)
        }
      }
    }
  }
  return { chunks: seen.size, problems }
}
