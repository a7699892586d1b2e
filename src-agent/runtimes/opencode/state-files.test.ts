import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { endTree, processesWith } from '../../process-tree/index.ts'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import type { RuntimePlace } from '../driver.ts'
import { databaseFile } from './places.ts'
import { captureState, removeState, restoreState } from './state-files.ts'

// Real processes on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 30_000 })

const FAKE = fileURLToPath(new URL('./testing/fake-opencode.mjs', import.meta.url))
const CONVERSATION = 'ses_moved1'

describe('moving a conversation of opencode', () => {
  let root: string
  let place: RuntimePlace
  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'ballet-opencode-')))
    const env = { PATH: process.env.PATH ?? '', HOME: root }
    const scratchDir = join(root, 'scratch')
    place = { cwd: root, env, executable: FAKE, scratchDir, marker: newMarker() }
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  /** Restores with a program that does this at an import. */
  async function restoreWith(script: string, where = place) {
    const executable = join(root, 'opencode')
    await writeFile(executable, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const path = join(root, 'stored.json')
    await writeFile(path, JSON.stringify({ info: { id: CONVERSATION }, messages: [] }))
    const files = [{ path, name: `${CONVERSATION}.json` }]
    return restoreState(CONVERSATION, files, { ...where, executable })
  }

  it('calls the state corrupt only where opencode refuses what is in it', async () => {
    const refused = { hint: expect.stringContaining('new conversation') }
    await expect(restoreWith('echo "no such schema" >&2; exit 1')).rejects.toMatchObject({
      ...{ code: 'state.corrupt', message: expect.stringContaining('no such schema') },
      ...refused,
    })
    const kept = { hint: expect.stringContaining('kept as it was stored') }
    await expect(restoreWith('kill -9 $$')).rejects.toMatchObject({
      ...{ code: 'runtime.start-killed', message: expect.stringContaining(CONVERSATION) },
      ...kept,
    })
    await expect(restoreWith('echo "database is locked" >&2; exit 1')).rejects.toMatchObject({
      ...{ code: 'runtime.start-failed', message: expect.stringContaining('locked') },
      ...kept,
    })
  })

  it('leaves what only a program that is gone could remove, and says so', async () => {
    await mkdir(dirname(databaseFile(place.env)), { recursive: true })
    await writeFile(databaseFile(place.env), '')
    const left: string[] = []
    const gone = { ...place, onLeft: (what: string) => left.push(what) }
    const nowhere = { ...gone, executable: join(root, 'nowhere') }
    expect(await removeState(CONVERSATION, nowhere)).toBe(0)
    expect(left).toEqual([expect.stringContaining(`keeps the conversation ${CONVERSATION}`)])
  })

  it('is found by the marker of its session while it is under way', async () => {
    const marker = newMarker()
    const marked = { ...place, marker }
    const env = { ...place.env, MARKED: join(root, 'marked') }
    await restoreWith('echo "$BALLET_SESSION" > "$MARKED"', { ...marked, env })
    expect(await readFile(env.MARKED, 'utf8')).toBe(`${marker.session}:${marker.nonce}\n`)

    await chmod(FAKE, 0o755)
    await mkdir(dirname(databaseFile(place.env)), { recursive: true })
    await writeFile(databaseFile(place.env), '')
    const mute = { ...marked, env: { ...place.env, FAKE: 'mute' } }
    const captured = captureState(CONVERSATION, mute)
    captured.catch(() => undefined)
    await vi.waitFor(async () => expect(await processesWith([marker])).toHaveLength(1), {
      ...{ timeout: 20_000, interval: 50 },
    })
    await endTree([marker], { graceMs: 0, limitMs: 10_000 })
    await expect(captured).rejects.toThrow()
  })
})
