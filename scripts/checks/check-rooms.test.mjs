import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkFile, checkRooms } from './check-rooms.mjs'
import { ROOMS } from './rooms.mjs'

/**
 * @param {string} path
 * @param {string} text
 */
const check = (path, text) => checkFile(path, text, path.split('/')[0] ?? '')

describe('what a room may not import', () => {
  it.each([
    ['electron in the core', 'src-core/a.ts', "import { app } from 'electron'"],
    ['its types only', 'src-core/a.ts', "import type { App } from 'electron'"],
    ['a type by import()', 'src-core/a.ts', "export type A = import('electron').App"],
    ['a dynamic import', 'src-core/a.ts', "export const a = await import('electron')"],
    ['a re-export', 'src-core/a.ts', "export * from 'electron'"],
    ['a named re-export', 'src-core/a.ts', "export { app } from 'electron'"],
    ['require', 'src-core/a.ts', "const a = require('electron')"],
    ['import = require', 'src-core/a.ts', "import a = require('electron')"],
    ['electron in the headless host', 'src-server/a.ts', "import 'electron'"],
    ['electron in the window', 'src-renderer/a.tsx', "import { ipcRenderer } from 'electron'"],
    ['files in the window', 'src-renderer/a.tsx', "import fs from 'node:fs'"],
    ['files by the old name', 'src-renderer/a.tsx', "import fs from 'fs'"],
    ['Node in the contract', 'src-shared/a.ts', "import { join } from 'node:path'"],
    ['types of Node in the contract', 'src-shared/a.ts', '/// <reference types="node" />'],
    ['the DOM in the contract', 'src-shared/a.ts', '/// <reference lib="dom" />'],
    ['React in the contract', 'src-shared/a.ts', "import type { FC } from 'react'"],
    [
      'the core in the contract',
      'src-shared/a.ts',
      "import type { C } from '../src-core/index.ts'",
    ],
    [
      'the core in the window',
      'src-renderer/a.ts',
      "import type { C } from '../src-core/index.ts'",
    ],
    ['the core in the agent', 'src-agent/a.ts', "import { c } from '../src-core/index.ts'"],
    [
      'the agent in the core',
      'src-core/sessions/a.ts',
      "import { a } from '../../src-agent/entry.ts'",
    ],
    [
      'the core’s inside in main',
      'src-main/a.ts',
      "import { d } from '../src-core/decide/decide.ts'",
    ],
    ['a way around by ..', 'src-main/a.ts', "import '../src-shared/../src-core/decide/decide.ts'"],
    ['the server in main', 'src-main/a.ts', "import { s } from '../src-server/index.ts'"],
    ['React in the core', 'src-core/a.ts', "import { useState } from 'react'"],
    ['a scripts’ file', 'src-core/a.ts', "import '../scripts/setup.mjs'"],
    ['a package nobody classified', 'src-core/a.ts', "import leftPad from 'left-pad'"],
    ['a file of such a package', 'src-core/a.ts', "import x from '@scope/name/deep/file.js'"],
    ['what only running it tells', 'src-core/a.ts', 'export const a = (n: string) => import(n)'],
    ['vitest outside of tests', 'src-core/a.ts', "import { it } from 'vitest'"],
    ['end-to-end support outside of tests', 'src-core/a.ts', "import '../e2e/support/wait-for.ts'"],
  ])('%s', (_, path, text) => {
    const problems = check(path, text)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`${path}:1: `)
  })

  it('is named with its line', () => {
    expect(check('src-core/a.ts', "\n\nimport 'electron'")).toEqual([
      'src-core/a.ts:3: src-core may not import electron: it is not in scripts/checks/rooms.mjs',
    ])
  })

  it('includes a file that does not parse', () => {
    expect(check('src-core/a.ts', 'import {')).toEqual([
      expect.stringContaining('src-core/a.ts does not parse'),
    ])
  })
})

describe('what a room may import', () => {
  it.each([
    ['its own files', 'src-core/decide/a.ts', "import { b } from '../b.ts'"],
    ['the contract', 'src-agent/a.ts', "import type { Event } from '../src-shared/timeline.ts'"],
    ['Node', 'src-agent/a.ts', "import { spawn } from 'node:child_process'"],
    ['the core’s index', 'src-main/a.ts', "import { createCore } from '../src-core/index.ts'"],
    ['electron in main', 'src-main/a.ts', "import { app } from 'electron'"],
    ['a listed package', 'src-core/a.ts', "import Database from 'better-sqlite3'"],
    [
      'a part of a listed package',
      'src-renderer/a.ts',
      "import { createStore } from 'zustand/vanilla'",
    ],
    ['styles', 'src-renderer/a.tsx', "import './a.css'"],
    ['a picture that ships', 'src-renderer/a.tsx', "import url from '../resources/icon.svg?url'"],
    ['vitest in a test', 'src-shared/a.test.ts', "import { it } from 'vitest'"],
    ['Node in a test', 'src-renderer/a.test.ts', "import { readFileSync } from 'node:fs'"],
    ['text that looks like one', 'src-core/a.ts', 'export const a = "import \'electron\'"'],
  ])('%s', (_, path, text) => {
    expect(check(path, text)).toEqual([])
  })
})

describe('the rooms of a clone', () => {
  /** @type {string} */
  let root
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'ballet-rooms-'))
    for (const name of Object.keys(ROOMS)) write(`${name}/index.ts`, 'export const a = 1\n')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  /**
   * @param {string} path
   * @param {string} text
   */
  const write = (path, text) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }

  it('are fine as they are', async () => {
    expect(await checkRooms(root)).toEqual({ files: Object.keys(ROOMS).length, problems: [] })
  })

  it('are checked file by file, below too', async () => {
    write('src-core/decide/deep/a.ts', "import 'electron'\n")
    write('src-core/readme.md', "import 'electron'\n")
    expect((await checkRooms(root)).problems).toEqual([
      expect.stringContaining('src-core/decide/deep/a.ts:1: '),
    ])
  })

  it('are missed when one is gone', async () => {
    rmSync(join(root, 'src-agent'), { recursive: true })
    expect((await checkRooms(root)).problems).toEqual([
      'src-agent: the room is missing, or holds no source',
    ])
  })

  it('do not include one that nobody classified', async () => {
    write('src-plugins/index.ts', 'export const a = 1\n')
    expect((await checkRooms(root)).problems).toEqual([
      'src-plugins: no such room in scripts/checks/rooms.mjs',
    ])
  })
})
