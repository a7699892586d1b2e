import { join } from 'node:path'
import { GroundError } from './errors.mjs'
import { readJson } from './files.mjs'
import { unzip } from './unzip.mjs'

// A closed network often answers nothing at all: the first bytes must come within this time.
const CONNECT_LIMIT_MS = 4_000
const STALL_LIMIT_MS = 60_000

/**
 * The Electron that package.json pins.
 * @param {string} root
 * @returns {Promise<string>}
 */
export async function pinnedVersion(root) {
  const manifest = await readJson(join(root, 'package.json'))
  return manifest.devDependencies.electron
}

/** The program inside Electron's distribution. */
export function officialExecutable(platform = process.platform) {
  if (platform === 'darwin') return 'Electron.app/Contents/MacOS/Electron'
  return platform === 'win32' ? 'electron.exe' : 'electron'
}

/** Names the source, so that a failure of one is not remembered for another. */
export const officialSource = (env = process.env) =>
  env.npm_config_electron_mirror ||
  env.NPM_CONFIG_ELECTRON_MIRROR ||
  env.ELECTRON_MIRROR ||
  'default'

/**
 * Downloads Electron's own distribution; @electron/get honours the mirror variables
 * (`ELECTRON_MIRROR` …) and what it has in its cache, and verifies the checksum that the `electron`
 * package carries.
 *
 * @param {string} dist the folder to fill
 * @param {object} context
 * @param {string} context.root
 * @param {string} context.version
 * @param {string} context.scratch
 * @param {import('./progress.mjs').Step} context.step
 * @param {number} [context.connectLimitMs]
 * @throws {GroundError} OFFICIAL_UNREACHABLE where it cannot be had from here; other errors where
 * what came is not right
 */
export async function downloadOfficial(
  dist,
  { root, version, scratch, step, connectLimitMs = CONNECT_LIMIT_MS },
) {
  const { downloadArtifact, ElectronDownloadCacheMode } = await import('@electron/get')
  const checksums = await readJson(join(root, 'node_modules', 'electron', 'checksums.json'))
  const abort = new AbortController()
  const give = () => abort.abort(new Error('no answer in time'))
  let limit = setTimeout(give, connectLimitMs)
  let zip
  try {
    zip = await downloadArtifact({
      version,
      artifactName: 'electron',
      platform: process.platform,
      arch: process.arch,
      checksums,
      cacheMode: ElectronDownloadCacheMode.ReadOnly,
      tempDirectory: scratch,
      downloadOptions: {
        quiet: true,
        signal: abort.signal,
        /** @param {{ transferred: number, total: number | null }} progress */
        getProgressCallback: async ({ transferred, total }) => {
          clearTimeout(limit)
          limit = setTimeout(give, STALL_LIMIT_MS)
          if (total) step.progress(transferred, total)
        },
      },
    })
  } catch (error) {
    if (isChecksumError(error)) {
      throw new GroundError(
        'CHECKSUM_MISMATCH',
        `The Electron ${version} that was downloaded is not the one that its package names.`,
        'It was not used. Check ELECTRON_MIRROR and any proxy, then run the command again.',
        error,
      )
    }
    throw new GroundError(
      'OFFICIAL_UNREACHABLE',
      `Electron ${version} could not be downloaded.`,
      'Set ELECTRON_MIRROR to a mirror that is reachable from here.',
      error,
    )
  } finally {
    clearTimeout(limit)
  }
  await unzip(zip, dist, { onProgress: (done, total) => step.progress(done, total) })
}

/** @param {unknown} error */
const isChecksumError = (error) =>
  error instanceof Error && /checksum/i.test(`${error.name} ${error.message}`)
