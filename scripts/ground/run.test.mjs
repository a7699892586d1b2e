import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, it, vi } from 'vitest'
import { ROOT } from './places.mjs'
import { identify } from './process-identity.mjs'
import { endGroup, run } from './run.mjs'

afterEach(() => {
  vi.restoreAllMocks()
})

it('does not wait for what a program left behind with its pipes', async () => {
  const code = `const child = require('node:child_process')
    .spawn('sleep', ['300'], { stdio: ['ignore', 1, 2], detached: true })
    child.unref(); console.log(child.pid)`
  const end = await run(process.execPath, ['-e', code], { limitMs: 15_000 })
  expect(end).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/) })
  // It runs on: a process that is gone cannot be killed.
  process.kill(Number(end.stdout), 'SIGKILL')
})

it('takes a group that it may not signal as one that is gone', async () => {
  const child = spawn('sleep', ['20'], { detached: true, stdio: 'ignore' })
  const leader = identify(/** @type {number} */ (child.pid))
  const kill = process.kill
  vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
    if (pid !== -leader.pid) return kill(pid, signal)
    kill(leader.pid, 'SIGKILL')
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
  })
  await expect(endGroup(leader)).resolves.toBeUndefined()
})

it('says that it was stopped, and not that something failed, when the person interrupts', async () => {
  const source = pathToFileURL(join(ROOT, 'scripts/ground/run.mjs')).href
  const program = `import { endChildrenOnSignals, mustRun } from ${JSON.stringify(source)}
    endChildrenOnSignals()
    const failure = { code: 'FAILED', message: 'It failed.', hint: 'Again.' }
    const work = mustRun('sleep', ['20'], { limitMs: 30_000, failure })
    console.log('up')
    await work.catch((error) => console.log(error.code))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program])
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([130, null])
  expect(said).toMatch(/^up\s+Stopped\. Run the command again/)
})
