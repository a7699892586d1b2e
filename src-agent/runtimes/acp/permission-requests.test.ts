import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { PermissionRequests } from './permission-requests.ts'

const OPTIONS = [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }]

let cwd = ''

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'ballet-permissions-'))
})
afterEach(() => rm(cwd, { recursive: true, force: true }))

it('an edit of git’s own files is asked about where edits are not', async () => {
  await mkdir(join(cwd, '.git'))
  const requests = new PermissionRequests('edits', [], cwd)
  const edit = (path: string) => {
    const call = { toolCallId: 'c1', kind: 'edit', locations: [{ path }] }
    return { name: 'edit', isMcp: false, isBallets: false, call, options: OPTIONS }
  }
  expect(requests.decide(edit('a.txt'))).not.toBeNull()
  expect(requests.decide(edit('.git/config'))).toBeNull()
  expect(requests.facts(edit('.git/config')).rules).toEqual([])
})
