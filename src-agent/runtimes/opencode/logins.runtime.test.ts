import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runBriefly } from '../run-briefly.ts'
import { launchEnvironment } from './launch.ts'
import { OPENCODE } from './testing/real-opencode.ts'

it("leaves the user the models of every login, also of those that opencode's own plugins serve", async () => {
  const root = await mkdtemp(join(tmpdir(), 'ballet-logins-opencode-'))
  try {
    const data = join(root, '.local', 'share', 'opencode')
    await mkdir(data, { recursive: true })
    const login = { type: 'oauth', refresh: 'x', access: 'x', expires: Date.now() + 86_400_000 }
    await writeFile(
      join(data, 'auth.json'),
      JSON.stringify({ 'github-copilot': login, openai: { ...login, accountId: 'x' } }),
    )
    const env = launchEnvironment({ HOME: root, PATH: '/usr/bin:/bin' })
    const { stdout } = await runBriefly(OPENCODE, ['models'], { cwd: root, env, limitMs: 50_000 })
    const providers = new Set(stdout.split('\n').map((line) => line.split('/')[0]))
    expect([...providers]).toEqual(expect.arrayContaining(['github-copilot', 'openai']))
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}, 60_000)
