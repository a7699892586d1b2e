import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { guardIsUp, writeGuard } from './guard.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-guard-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it('takes what the plugin of an earlier server did for nothing that the next one did', async () => {
  await writeGuard(folder, {})
  await writeFile(join(folder, 'guard.done'), 'wiped')
  expect(await guardIsUp(folder, 0)).toBe(true)
  await writeGuard(folder, {})
  expect(await guardIsUp(folder, 0)).toBe(false)
})

it("leaves npm to the tools as the person's own environment has it", async () => {
  for (const own of [{}, { npm_config_offline: 'false' }]) {
    // Its name makes every Node take it for the module that it is.
    const plugin = join(folder, 'guard.mjs')
    await copyFile(new URL(await writeGuard(folder, own)), plugin)
    const source = `await import(${JSON.stringify(plugin)})
console.log(JSON.stringify(process.env))`
    const env = { PATH: process.env.PATH, npm_config_offline: 'true', OPENCODE_CONFIG: '/x' }
    const args = ['--input-type=module', '-e', source]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    const seen = JSON.parse(stdout) as Record<string, string>
    expect(seen.npm_config_offline).toBe(own.npm_config_offline)
    expect(seen.OPENCODE_CONFIG).toBeUndefined()
  }
})
