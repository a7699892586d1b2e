import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkBundles } from './check-bundles.mjs'

/** @type {string} */
let folder
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-bundles-'))
  write('server.js', "import { a } from './chunks/a.js'\nimport ws from 'ws'\na(ws)\n")
  write('chunks/a.js', "import { b } from './b.js'\nexport const a = b\n")
  write('chunks/b.js', "import './a.js'\nexport const b = (x) => x\n")
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const problems = async () => (await checkBundles(folder, ['server.js'])).problems

it('finds nothing in programs that need no Electron', async () => {
  expect(await checkBundles(folder, ['server.js'])).toEqual({ chunks: 3, problems: [] })
})

it.each([
  ['an import', "import { app } from 'electron'"],
  ['a part of it', "import { app } from 'electron/main'"],
  ['a dynamic import', "await import('electron')"],
  ['require', "const { app } = require('electron')"],
  ['a bundler’s require', "const { app } = __require('electron')"],
  ['a require that is made', "const { app } = createRequire(import.meta.url)('electron')"],
])('finds Electron in a chunk of a chunk: %s', async (_, text) => {
  write('chunks/b.js', text)
  expect(await problems()).toEqual([
    expect.stringMatching(/^server\.js: chunks\/b\.js imports electron/),
  ])
})

it('finds it behind a dynamic import of a chunk', async () => {
  write('server.js', "const later = () => import('./chunks/later.js')\nlater()\n")
  write('chunks/later.js', "import 'electron'\n")
  expect(await problems()).toEqual(['server.js: chunks/later.js imports electron'])
})

it('fails on a program and on a chunk that is missing', async () => {
  expect((await checkBundles(folder, ['agent.js'])).problems).toEqual([
    'agent.js: agent.js is missing',
  ])
  rmSync(join(folder, 'chunks/b.js'))
  expect(await problems()).toEqual(['server.js: chunks/b.js is missing'])
})
