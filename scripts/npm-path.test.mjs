import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { withoutNpmFolders } from '../bin/npm-path.mjs'
import { ROOT } from './ground/places.mjs'

const root = join('/', 'home', 'me', 'clone')
const bin = (/** @type {string[]} */ ...folders) => join('/', ...folders, 'node_modules', '.bin')
const added = [
  bin('home', 'me', 'clone'),
  bin('home', 'me'),
  bin('home'),
  bin(),
  join('/', 'npm', 'run-script', 'lib', 'node-gyp-bin'),
]
const own = [join('/', 'home', 'me', '.local', 'bin'), join('/', 'usr', 'bin')]

it('takes away what npm put first, also twice, and leaves the person’s folders as they are', () => {
  const env = { npm_lifecycle_event: 'start', A: 'b', PATH: [...added, ...own].join(delimiter) }
  expect(withoutNpmFolders(env, root)).toEqual({ ...env, PATH: own.join(delimiter) })
  const nested = { ...env, PATH: [...added, ...added, ...own].join(delimiter) }
  expect(withoutNpmFolders(nested, root).PATH).toBe(own.join(delimiter))
})

it('leaves a folder of modules that the person has further down, or that is of another clone', () => {
  const kept = [bin('other'), ...own, bin('home', 'me', 'clone')].join(delimiter)
  const env = { npm_lifecycle_event: 'start', PATH: [...added, kept].join(delimiter) }
  expect(withoutNpmFolders(env, root).PATH).toBe(kept)
})

it('leaves all as it is where npm has nothing to do with it', () => {
  const env = { PATH: [...added, ...own].join(delimiter) }
  expect(withoutNpmFolders(env, root)).toBe(env)
  expect(withoutNpmFolders({ npm_lifecycle_event: 'start' }, root).PATH).toBeUndefined()
})

it('finds the name of PATH that Windows has', () => {
  const env = { npm_lifecycle_event: 'start', Path: [...added, ...own].join(delimiter) }
  expect(withoutNpmFolders(env, root).Path).toBe(own.join(delimiter))
})

/** @type {string} */
let folder
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ballet-npm-path-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** @type {NodeJS.ProcessEnv} */
const env = { ...process.env, PATH: [...own, process.env.PATH].join(delimiter) }
delete env.npm_lifecycle_event

it('knows what the npm of this machine does', () => {
  const scripts = { show: 'node -p "JSON.stringify(process.env)"' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts }))
  const shown = execFileSync('npm', ['run', '--silent', 'show'], { cwd: folder, env })
  const seen = JSON.parse(String(shown))
  expect(seen.PATH).not.toBe(env.PATH)
  expect(withoutNpmFolders(seen, folder).PATH).toBe(env.PATH)
})

it('is done for the command line, where npx started it', () => {
  cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
  mkdirSync(join(folder, 'out', 'node'), { recursive: true })
  writeFileSync(join(folder, 'out/node/cli.js'), 'console.log(process.env.PATH)')
  const manifest = { name: 'ballet', version: '1.0.0', type: 'module', bin: 'bin/ballet.mjs' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const shown = execFileSync('npx', ['--no', manifest.name], { cwd: folder, env })
  expect(String(shown).trim()).toBe(env.PATH)
})
