import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import { findOpencode } from './find.ts'
import { captureState } from './state-files.ts'

describe('looking for opencode', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'ballet-find-opencode-'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  const program = async (says: string) => {
    const path = join(root, 'opencode')
    await writeFile(path, `#!/bin/sh\n${says}\n`, { mode: 0o755 })
    return { path, env: { HOME: root, PATH: '/usr/bin:/bin' } }
  }

  it('finds it where its own installer puts it, with the logins that it keeps', async () => {
    const folder = join(root, '.opencode', 'bin')
    await mkdir(folder, { recursive: true })
    const path = join(folder, 'opencode')
    await writeFile(path, '#!/bin/sh\necho 1.18.33\n', { mode: 0o755 })
    const data = join(root, '.local', 'share', 'opencode')
    await mkdir(data, { recursive: true })
    await writeFile(join(data, 'auth.json'), '{"anthropic":{"type":"api","key":"never shown"}}')
    const env = { HOME: root, PATH: '/nowhere' }
    const found = await findOpencode({ path: null, env })
    // One that is installed on this machine would come first.
    if (found.path !== path) return
    expect(found).toMatchObject({
      ...{ runtime: 'opencode', version: '1.18.33', problem: null, notice: null },
      ...{ loggedIn: true, login: 'anthropic' },
    })
    expect(JSON.stringify(found)).not.toContain('never shown')
  })

  it('refuses an older one with the command that upgrades it, and tries a newer one with a notice', async () => {
    expect(await findOpencode(await program('echo 1.17.9'))).toMatchObject({
      version: '1.17.9',
      problem: { code: 'runtime.too-old', hint: expect.stringContaining('opencode upgrade') },
    })
    expect(await findOpencode(await program('echo 1.19.0'))).toMatchObject({
      ...{ version: '1.19.0', problem: null, notice: { code: 'runtime.newer' }, loggedIn: null },
    })
  })

  it('says what is wrong with one that does not work or is not there', async () => {
    expect(await findOpencode(await program('echo broken >&2; exit 2'))).toMatchObject({
      problem: { code: 'runtime.not-working', message: expect.stringContaining('broken') },
    })
    const env = { HOME: root, PATH: '/nowhere' }
    expect(await findOpencode({ path: join(root, 'none'), env })).toMatchObject({
      problem: { code: 'runtime.not-found', hint: expect.stringContaining('npm install') },
    })
  })
})

it('takes no id of another runtime for one of its own', async () => {
  const place = { cwd: '/', env: {}, executable: null, scratchDir: tmpdir(), marker: newMarker() }
  await expect(captureState('../../etc', place)).rejects.toMatchObject({ code: 'state.corrupt' })
})
