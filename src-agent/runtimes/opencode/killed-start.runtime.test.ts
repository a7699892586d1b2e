import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Scene } from '../claude-code/testing/real-runtime.ts'
import type { DriverSpec } from '../driver.ts'
import { createOpencodeDriver } from './index.ts'
import { makeScene } from './testing/real-opencode.ts'

// A real program on a busy machine.
vi.setConfig({ testTimeout: 200_000, hookTimeout: 30_000 })

/** opencode itself takes a lock for old after 60 s. */
const WAITS_MS = 60_000

let scene: Scene
let spec: DriverSpec
beforeEach(async () => {
  ;({ scene, spec } = await makeScene('http://127.0.0.1:9'))
})
afterEach(() => scene.close())

/** What one leaves that was killed while it installed its package. */
async function leaveLock(): Promise<void> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(child, 'exit')
  const { XDG_CONFIG_HOME = '', XDG_STATE_HOME = '' } = spec.env
  const key = `npm-install:${join(XDG_CONFIG_HOME, 'opencode')}`
  const name = createHash('sha1').update(key).digest('hex')
  const folder = join(XDG_STATE_HOME, 'opencode', 'locks', `${name}.lock`)
  await mkdir(folder, { recursive: true })
  const holder = { token: 'gone', pid: child.pid, hostname: hostname(), createdAt: '' }
  await writeFile(join(folder, 'heartbeat'), '')
  await writeFile(join(folder, 'meta.json'), JSON.stringify(holder))
}

it('begins at once where an opencode was killed in its start', async () => {
  await leaveLock()
  const began = performance.now()
  const session = await createOpencodeDriver().start(spec, scene.onSignal)
  expect(performance.now() - began).toBeLessThan(WAITS_MS - 5_000)
  expect(scene.signals).toEqual([])
  await session.stop()
})

it('tells one that is killed while it is asked as killed in its start', async () => {
  const executable = join(scene.root, 'killed-opencode.mjs')
  const source = `#!${process.execPath}
import { createServer } from 'node:http'
const port = Number(process.argv[process.argv.indexOf('--port') + 1])
const server = createServer((request) => {
  request.socket.destroy()
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 200)
})
server.listen(port, '127.0.0.1', () => console.log('listening on http://127.0.0.1:' + port))
`
  await writeFile(executable, source, { mode: 0o755 })
  const started = createOpencodeDriver().start({ ...spec, executable }, scene.onSignal)
  await expect(started).rejects.toMatchObject({ code: 'runtime.start-killed' })
})
