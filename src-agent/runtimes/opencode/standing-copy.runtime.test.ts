import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import type { Scene } from '../claude-code/testing/real-runtime.ts'
import type { DriverSpec, RuntimePlace } from '../driver.ts'
import { createOpencodeDriver } from './index.ts'
import { makeScene, OPENCODE } from './testing/real-opencode.ts'

// A real program on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 30_000 })

let scene: Scene
let spec: DriverSpec
beforeEach(async () => {
  ;({ scene, spec } = await makeScene('http://127.0.0.1:9'))
})
afterEach(() => scene.close())

it('leaves what it has as it was stored for the same folder, and takes it in anew for another one', async () => {
  const { start, state } = createOpencodeDriver()
  const session = await start(spec, scene.onSignal)
  const { conversation } = session
  await session.stop()

  const calls = join(scene.root, 'calls')
  const executable = join(scene.root, 'noting')
  const script = `#!/bin/sh\necho "$1" >> ${calls}\nexec ${OPENCODE} "$@"\n`
  await writeFile(executable, script, { mode: 0o755 })
  const asked = async () => (await readFile(calls, 'utf8')).trim().split('\n')
  const place: RuntimePlace = {
    ...{ cwd: spec.cwd, env: spec.env, executable, marker: newMarker() },
    scratchDir: join(scene.root, 'scratch of the move'),
  }
  const captured = (await state?.capture(conversation, place)) ?? []
  await state?.restore(conversation, captured, place)
  expect(await asked()).toEqual(['serve', 'serve'])

  const moved = { ...place, cwd: join(scene.root, 'moved') }
  await mkdir(moved.cwd)
  await state?.restore(conversation, captured, moved)
  expect(await asked()).toEqual(['serve', 'serve', 'serve', 'import'])
  expect(await state?.list({ ...moved, cwd: scene.root })).toMatchObject([
    { conversation, ran: moved.cwd },
  ])
})
