import { join } from 'node:path'
import { runnerImport } from 'vite'
import { ROOT } from './places.mjs'

/**
 * A TypeScript module of the clone.
 *
 * @param {string} source from the root
 * @returns {Promise<any>}
 */
export async function load(source) {
  const { module } = await runnerImport(join(ROOT, source), {
    root: ROOT,
    configFile: false,
    logLevel: 'error',
  })
  return module
}
