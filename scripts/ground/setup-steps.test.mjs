import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isSource, sourcesHash } from './build.mjs'
import { countPackages, ensureDependencies, isInstalledAsLocked } from './dependencies.mjs'
import { prebuiltRuns } from './native-sqlite.mjs'
import { placesOf } from './places.mjs'
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

  it('are left alone where somebody installed them by hand', async () => {
    const step = { detail: () => {}, progress: () => {} }
    expect(await ensureDependencies(root, step)).toEqual({ skipped: 'as the lock file says' })
    expect(readFileSync(join(root, 'node_modules/.ballet-setup.json'), 'utf8')).toMatch(/"lock"/)
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
