import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { askVersion } from './ask-version.ts'
import { findWorking, lookWith } from './examine-program.ts'
import { findOpencode, VERSIONS } from './opencode/find.ts'

let root: string
let path: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ballet-version-'))
  path = join(root, 'program')
})
afterEach(() => rm(root, { recursive: true, force: true }))

const env = { PATH: '/usr/bin:/bin' }
const write = (says: string) =>
  writeFile(path, `#!/bin/sh\necho run >> ${join(root, 'runs')}\n${says}\n`, { mode: 0o755 })
const runs = async () => (await readFile(join(root, 'runs'), 'utf8')).trim().split('\n').length

describe('asking a program for its version', () => {
  it('starts it once for all who ask meanwhile', async () => {
    await write('sleep 0.3; echo 1.18.33')
    const found = await Promise.all([
      findOpencode({ path, env }),
      findOpencode({ path, env }),
      askVersion(path, { env, limitMs: 5_000, remembers: false }),
    ])
    expect(found.map((each) => ('version' in each ? each.version : each.stdout.trim()))).toEqual([
      ...['1.18.33', '1.18.33', '1.18.33'],
    ])
    expect(await runs()).toBe(1)
  })

  it('remembers what the same file said, where that is good enough, and no failure', async () => {
    const ask = (remembers: boolean) => askVersion(path, { env, limitMs: 5_000, remembers })
    await write('exit 3')
    await ask(true)
    await ask(true)
    expect(await runs()).toBe(2)
    await write('echo 1.0.0 of the first')
    await ask(true)
    await ask(true)
    expect(await runs()).toBe(3)
    await ask(false)
    expect(await runs()).toBe(4)
    await write('echo 2.0.0')
    expect((await ask(true)).stdout).toBe('2.0.0\n')
  })

  it('says that one did not answer in time, and does not look at another one behind it', async () => {
    await write('sleep 60')
    const program = {
      ...({ runtime: 'opencode', title: 'opencode', name: 'opencode' } as const),
      ...{ versions: VERSIONS, installHint: 'Install it.', upgradeHint: 'Upgrade it.' },
    }
    const look = lookWith(env, { limitMs: 300 })
    expect(await findWorking(program, [path, '/nowhere'], look)).toMatchObject({
      path,
      problem: {
        code: 'runtime.no-answer',
        message: `opencode at ${path} did not answer within 0.3 s.`,
      },
    })
  })
})
