import { delimiter, dirname, join, sep } from 'node:path'

/** Where npm keeps its own node-gyp, of whatever version npm is. */
const NODE_GYP_BIN = `${sep}node-gyp-bin`
/** Where npx keeps what it installed for itself. */
const OF_NPX = /[\\/]_npx[\\/][^\\/]+[\\/]node_modules[\\/]\.bin$/

/**
 * An environment without the folders that `npm run` and npx put before the person's PATH. With them everything that is
 * looked for would first be found among this clone's development dependencies, such as their Claude Code instead of
 * the person's.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} root the clone
 * @returns {NodeJS.ProcessEnv}
 */
export function withoutNpmFolders(env, root) {
  // Windows has it in another case.
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH')
  const path = name === undefined ? undefined : env[name]
  if (name === undefined || path === undefined || env.npm_lifecycle_event === undefined) return env
  const own = new Set(modulesAbove(root))
  const folders = path.split(delimiter)
  // Those at the beginning only: one that the person has further down is the person's.
  const first = folders.findIndex(
    (folder) => !own.has(folder) && !folder.endsWith(NODE_GYP_BIN) && !OF_NPX.test(folder),
  )
  return { ...env, [name]: first === -1 ? '' : folders.slice(first).join(delimiter) }
}

/**
 * `node_modules/.bin` of a folder and of each above it.
 * @param {string} folder
 * @returns {string[]}
 */
function modulesAbove(folder) {
  const above = dirname(folder)
  return [join(folder, 'node_modules', '.bin'), ...(above === folder ? [] : modulesAbove(above))]
}
