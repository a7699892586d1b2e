import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isSource, sourcesHash } from './build.mjs'
import {
  countPackages,
  ensureDependencies,
  INSTALL_SCRIPTS,
  isInstalledAsLocked,
} from './dependencies.mjs'
import { downloadHeaders, headersFolder, prebuiltRuns } from './native-sqlite.mjs'
import { placesOf, ROOT } from './places.mjs'
import { createReport, formatElapsed, formatShare } from './progress.mjs'
import { missingPackages } from './system-packages.mjs'

/** @type {string} */
let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ballet-steps-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/**
 * @param {string} path
 * @param {string | object} content
 */
function write(path, content) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), typeof content === 'string' ? content : JSON.stringify(content))
}

describe('dependencies', () => {
  const a = { version: '1.0.0' }
  const optional = { version: '2.0.0', optional: true }
  beforeEach(() => {
    write('package-lock.json', {
      packages: { '': {}, 'node_modules/a': a, 'node_modules/b-mac': optional },
    })
    write('node_modules/.package-lock.json', { packages: { 'node_modules/a': a } })
  })

  it('are there when npm’s own note agrees with the lock file', async () => {
    expect(await isInstalledAsLocked(root)).toBe(true)
  })

  it.each([
    ['another version', { 'node_modules/a': { version: '1.0.1' } }],
    ['one missing', {}],
    ['one too many', { 'node_modules/a': a, 'node_modules/c': a }],
    ['an optional one in another version', { 'node_modules/a': a, 'node_modules/b-mac': a }],
  ])('are not with %s', async (_, packages) => {
    write('node_modules/.package-lock.json', { packages })
    expect(await isInstalledAsLocked(root)).toBe(false)
  })

  it('are not when an install was cut off, since npm writes its note last', async () => {
    rmSync(join(root, 'node_modules/.package-lock.json'))
    expect(await isInstalledAsLocked(root)).toBe(false)
  })

  it('are counted as far as they are for this system', async () => {
    const packages = {
      '': {},
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '1.0.0', os: ['linux'], cpu: ['x64'] },
      'node_modules/c': { version: '1.0.0', os: ['!linux'] },
      'node_modules/d': { version: '1.0.0', cpu: ['arm64'], os: ['linux'] },
      'node_modules/e': { link: true },
    }
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }))
    expect(await countPackages(root, { platform: 'linux', arch: 'x64' })).toBe(2)
    expect(await countPackages(root, { platform: 'darwin', arch: 'arm64' })).toBe(2)
  })

  const step = { detail: () => {}, progress: () => {} }

  it('are left alone where somebody installed them by hand', async () => {
    expect(await ensureDependencies(root, step)).toEqual({ skipped: 'as the lock file says' })
    expect(readFileSync(join(root, 'node_modules/.ballet-setup.json'), 'utf8')).toMatch(/"lock"/)
  })

  it('have the scripts that are needed run, also where they were installed without', async () => {
    const name = 'opencode-ai'
    const packages = { 'node_modules/a': a, [`node_modules/${name}`]: a }
    write('package-lock.json', { packages: { '': {}, ...packages } })
    write('node_modules/.package-lock.json', { packages })
    const script = `node_modules/${name}/${INSTALL_SCRIPTS[name]}`
    write(script, "import { writeFileSync } from 'node:fs'; writeFileSync('program', '')")
    await ensureDependencies(root, step)
    expect(existsSync(join(root, 'node_modules', name, 'program'))).toBe(true)

    rmSync(join(root, 'node_modules', name, 'program'))
    await ensureDependencies(root, step)
    expect(existsSync(join(root, 'node_modules', name, 'program'))).toBe(false)
  })

  it('are not noted as done when such a script fails', async () => {
    const packages = { 'node_modules/opencode-ai': a }
    write('package-lock.json', { packages: { '': {}, ...packages } })
    write('node_modules/.package-lock.json', { packages })
    const failure = {
      code: 'INSTALL_SCRIPT_FAILED',
      message: expect.stringContaining('opencode-ai'),
    }
    mkdirSync(join(root, 'node_modules/opencode-ai'), { recursive: true })
    for (const _ of ['once', 'again']) {
      await expect(ensureDependencies(root, step)).rejects.toMatchObject(failure)
    }
  })

  it('are refused in a folder that is a link, before anything is removed', async () => {
    rmSync(join(root, 'node_modules'), { recursive: true })
    write('other/kept', '')
    symlinkSync(join(root, 'other'), join(root, 'node_modules'))
    await expect(ensureDependencies(root, step)).rejects.toMatchObject({
      code: 'NODE_MODULES_IS_A_LINK',
      message: expect.stringContaining(join(root, 'node_modules')),
      hint: expect.stringContaining('Remove the link'),
    })
    expect(existsSync(join(root, 'other/kept'))).toBe(true)
  })

  it.each(['.', 'e2e/runtimes'])(
    'have no other package in %s with a script of its own',
    (folder) => {
      const lock = JSON.parse(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8'))
      const { allowScripts } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
      const withScript = Object.entries(lock.packages).filter(([, each]) => each.hasInstallScript)
      for (const [path, { name = path.replace('node_modules/', '') }] of withScript) {
        expect(Object.keys(INSTALL_SCRIPTS)).toContain(path.replace('node_modules/', ''))
        // For a person who runs npm by hand.
        expect(allowScripts).toMatchObject({ [name]: true })
      }
    },
  )
})

describe('the headers of Node', () => {
  const configured = async () => join(root, 'configured')
  const program = join(process.platform === 'win32' ? 'node' : 'bin', 'node')

  it('are those beside the Node that runs, then those that npm was told of', async () => {
    const node = join(root, 'node', program)
    expect(await headersFolder(node, configured)).toBeUndefined()
    write('configured/include/node/node_api.h', '')
    expect(await headersFolder(node, configured)).toBe(join(root, 'configured'))
    write('node/include/node/node_api.h', '')
    expect(await headersFolder(node, configured)).toBe(join(root, 'node'))
  })

  it('are said to be missing where they cannot be downloaded', async () => {
    write('node-gyp.js', "console.error('gyp ERR! ENOTFOUND nodejs.org'); process.exit(1)")
    const step = { detail: () => {}, progress: () => {} }
    await expect(downloadHeaders(join(root, 'node-gyp.js'), step)).rejects.toMatchObject({
      code: 'HEADERS_UNREACHABLE',
      message: expect.stringMatching(/better-sqlite3[\s\S]*ENOTFOUND/),
      hint: expect.stringContaining('npm config set nodedir'),
    })
  })
})

describe('better-sqlite3', () => {
  it.each([
    ['Node 22 with Electron 45', '10', '45.5.0', true],
    ['Node 24 with Electron 35', '10', '35.0.0', true],
    ['Node 20', '9', '45.5.0', false],
    ['the stand-in', '10', '33.2.1', false],
  ])('prebuilt with %s: %s, %s', (_, nodeApi, electron, runs) => {
    expect(prebuiltRuns(nodeApi, { electron })).toBe(runs)
  })
  it('prebuilt without a runtime goes by Node alone', () => {
    expect(prebuiltRuns('10', undefined)).toBe(true)
    expect(prebuiltRuns('9', undefined)).toBe(false)
  })
})

describe('the build', () => {
  beforeEach(() => {
    write('src-core/index.ts', 'export const a = 1\n')
    write('package.json', {})
  })

  it('reads sources and settings, and no tests, outputs or modules', () => {
    for (const path of [
      'src-core/',
      'src-core/index.ts',
      'src-renderer/a.css',
      'resources/icon.png',
      'e2e/model/main.ts',
      'vite.node.config.ts',
      'scripts/ground/entries.mjs',
    ]) {
      expect([path, isSource(path)]).toEqual([path, true])
    }
    for (const path of ['src-core/a.test.ts', 'out/', 'node_modules/', '.git/', 'e2e/a.spec.ts']) {
      expect([path, isSource(path)]).toEqual([path, false])
    }
  })

  it('is due when a source, or a setting, is changed, added or gone', async () => {
    const hashes = [await sourcesHash(root)]
    write('src-core/index.ts', 'export const a = 2\n')
    hashes.push(await sourcesHash(root))
    write('src-core/b.ts', '')
    hashes.push(await sourcesHash(root))
    write('package.json', { a: 1 })
    hashes.push(await sourcesHash(root))
    rmSync(join(root, 'src-core/index.ts'))
    hashes.push(await sourcesHash(root))
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('is not due for a test', async () => {
    const before = await sourcesHash(root)
    write('src-core/index.test.ts', '')
    expect(await sourcesHash(root)).toBe(before)
  })
})

it('finds the Debian packages that are missing, under either name', async () => {
  const runner = async () => ({
    code: 1,
    signal: null,
    stdout: 'ii  xvfb\nii  libgtk-3-0t64\nrc  libnss3\nun  libasound2\n',
    tail: '',
  })
  expect(await missingPackages(['xvfb', 'libgtk-3-0', 'libnss3', 'libasound2'], runner)).toEqual([
    'libnss3',
    'libasound2',
  ])
})

it('puts the cache where the person says', () => {
  expect(placesOf('/clone', { BALLET_CACHE: '/c' }).cache).toBe('/c')
  expect(placesOf('/clone', { XDG_CACHE_HOME: '/x' }).cache).toBe(
    process.platform === 'linux' ? join('/x', 'ballet') : expect.stringContaining('ballet'),
  )
})

describe('progress', () => {
  /** @param {boolean} isTTY */
  const terminal = (isTTY) => {
    /** @type {string[]} */
    const written = []
    const stream = /** @type {any} */ ({
      isTTY,
      columns: 100,
      write: (/** @type {string} */ text) => written.push(text),
    })
    return { written, stream }
  }

  it('is one line a step with its time, and a failed one is marked and passed on', async () => {
    const { written, stream } = terminal(false)
    let now = 0
    const report = createReport({ stream, now: () => now })
    await report.step('Build', async () => {
      now = 1_500
      return 'three programs'
    })
    const failing = report.step('More', async () => {
      now = 63_000
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(written).toEqual(['  ✓ Build: three programs (1.5 s)\n', '  ✗ More (1 min 2 s)\n'])
  })

  it('is silent about what was done before, unless asked', async () => {
    for (const verbose of [false, true]) {
      const { written, stream } = terminal(false)
      await createReport({ stream, verbose }).step('Build', async () => ({ skipped: 'there' }))
      expect(written).toEqual(verbose ? ['  - Build: there\n'] : [])
    }
  })

  it('goes on in place on a terminal, and now and then elsewhere', async () => {
    vi.useFakeTimers()
    try {
      for (const tty of [true, false]) {
        const { written, stream } = terminal(tty)
        await createReport({ stream }).step('Load', async (step) => {
          step.progress(10_000_000, 40_000_000)
          vi.advanceTimersByTime(10_000)
          step.progress(20_000_000, 40_000_000)
          vi.advanceTimersByTime(10_000)
        })
        const shares = written.filter((text) => text.includes('%'))
        expect(shares.at(-1)).toContain('50 % 20 of 40 MB (20 s)')
        expect(shares).toHaveLength(tty ? 2 + 2 * 40 : 2)
        expect(shares.every((text) => text.startsWith('\r') === tty)).toBe(true)
      }
    } finally {
      vi.useRealTimers()
    }
  })

  it('is written for people', () => {
    expect(formatShare(50, 200, 'files')).toBe('[######..................]  25 % 50 of 200 files')
    expect([0, 9_940, 12_000, 125_000].map(formatElapsed)).toEqual([
      '0.0 s',
      '9.9 s',
      '12 s',
      '2 min 5 s',
    ])
  })
})
