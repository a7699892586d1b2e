import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readItem } from './items.ts'
import { PermissionRequests, type Prompt } from './permission-requests.ts'
import type { Item } from './protocol.ts'

let root = ''
let cwd = ''

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ballet-codex-'))
  cwd = join(root, 'workspace')
  await mkdir(join(cwd, '.git'), { recursive: true })
})
afterEach(() => rm(root, { recursive: true, force: true }))

type Kind = Readonly<Record<string, unknown>>

const edit = (path: string, kind: Kind): Item => ({
  ...{ type: 'fileChange', id: 'c1', status: 'inProgress' },
  changes: [{ path, kind, diff: '@@ -1 +1 @@\n-one\n+two\n\nMoved to: elsewhere' }],
})

function promptOf(requests: PermissionRequests, item: Item): Prompt {
  return requests.filePrompt({ itemId: 'c1' }, item) ?? expect.unreachable()
}

describe('an edit in the mode for edits', () => {
  const isAllowed = (path: string, kind: Kind) => {
    const requests = new PermissionRequests(cwd, 'edits', [])
    return requests.isAllowed(promptOf(requests, edit(path, kind)))
  }

  it('needs no question inside the workspace, also where it moves a file', () => {
    expect(isAllowed(join(cwd, 'a.txt'), { type: 'update', move_path: null })).toBe(true)
    expect(isAllowed('a.txt', { type: 'update', move_path: join(cwd, 'b.txt') })).toBe(true)
  })

  it('is asked about where the file, or the place that it is moved to, is elsewhere', () => {
    const outside = join(root, '.bashrc')
    expect(isAllowed(outside, { type: 'add' })).toBe(false)
    expect(isAllowed('a.txt', { type: 'update', move_path: outside })).toBe(false)
    expect(isAllowed('a.txt', { type: 'update', movePath: outside })).toBe(false)
    expect(isAllowed('a.txt', { type: 'update', move_path: '../out.txt' })).toBe(false)
    expect(isAllowed('a.txt', { type: 'update', move_path: cwd })).toBe(false)
    expect(isAllowed('a.txt', { type: 'update', move_path: { path: outside } })).toBe(false)
  })

  it("is asked about where it changes git's own files", () => {
    expect(isAllowed('.git/config', { type: 'update' })).toBe(false)
    expect(isAllowed('a.txt', { type: 'update', move_path: '.git/config' })).toBe(false)
  })
})

it('an answer for the session allows no move out of the workspace', () => {
  const rule = { allow: 'edits' }
  const requests = new PermissionRequests(cwd, 'ask', [{ digest: 'a'.repeat(64), rules: [rule] }])
  const moving = (to: string) =>
    promptOf(requests, edit('a.txt', { type: 'update', move_path: to }))
  expect(requests.isAllowed(moving('b.txt'))).toBe(true)
  const out = moving(join(root, '.bashrc'))
  expect(requests.isAllowed(out)).toBe(false)
  expect(requests.facts(out, (text) => text).rules).toEqual([])
})

it('a move shows where the file goes, in its title, its input and its diff', () => {
  const item = edit(join(cwd, 'a.txt'), { type: 'update', move_path: '/etc/b.txt' })
  const seen = readItem({ ...item, status: 'completed' }, cwd)
  expect(seen).toMatchObject({
    call: {
      title: 'a.txt → /etc/b.txt',
      input: { changes: [{ path: 'a.txt → /etc/b.txt', kind: 'update' }] },
    },
    result: {
      output: 'update a.txt → /etc/b.txt',
      diff: [{ path: 'a.txt → /etc/b.txt', added: 1, removed: 1 }],
    },
  })
})
