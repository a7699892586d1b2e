import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import { removeState } from './state-files.ts'

const ID = '01a22a69-d8ec-76e6-bc1f-ea9e49d3cf65'

let root: string
let records: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ballet-codex-'))
  records = join(root, 'home', 'sessions', '2026', '11', '30')
  await mkdir(records, { recursive: true })
  const row = JSON.stringify({ type: 'session_meta', payload: { cwd: join(root, 'work', 'a') } })
  await writeFile(join(records, `rollout-2026-11-30T00-00-00-${ID}.jsonl`), `${row}\n`)
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function removedWith(does: string): Promise<string[]> {
  const executable = join(root, 'codex')
  await writeFile(executable, `#!/bin/sh\n${does}\n`, { mode: 0o755 })
  const left: string[] = []
  const env = { PATH: '/usr/bin:/bin', CODEX_HOME: join(root, 'home') }
  const place = { cwd: join(root, 'work'), env, executable, scratchDir: root, marker: newMarker() }
  expect(await removeState(ID, { ...place, onLeft: (what) => left.push(what) })).toBe(1)
  expect(await readdir(records)).toEqual([])
  return left
}

it('says why the databases keep what they hold of a removed conversation', async () => {
  expect(await removedWith('echo "database is locked" >&2; exit 1')).toEqual([
    `The databases of Codex keep what they hold of the conversation ${ID}: database is locked`,
  ])
})

it('says nothing where Codex removed it', async () => {
  expect(await removedWith('exit 0')).toEqual([])
})
