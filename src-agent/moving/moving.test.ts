import { cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ParkedWork } from '../../src-shared/parking.ts'
import { sealFile } from '../parking/sealed-file.ts'
import { makeSample, never, type Sample } from '../workspace/sample-repository.ts'
import { packSession } from './pack-session.ts'
import { unpackSession } from './unpack-session.ts'

const KEY = Buffer.alloc(32, 7)
const OTHER_KEY = Buffer.alloc(32, 8)
const passphrase = 'a long passphrase'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

/** A folder as Core leaves it, and one kept file. */
async function packed() {
  const folder = join(sample.folder, 'out')
  await mkdir(join(folder, 'blobs'), { recursive: true })
  await writeFile(join(folder, 'session.json'), '{"version":1}')
  await writeFile(join(folder, 'blobs', 'b'.repeat(64)), 'a blob')
  const keptDir = join(sample.folder, 'kept')
  await mkdir(keptDir)
  await writeFile(join(sample.folder, 'plain'), 'the state of a conversation')
  const sealed = await sealFile(join(sample.folder, 'plain'), join(keptDir, 'state-1.sealed'), KEY)
  const { bytes, sha256, content } = sealed
  const state = { kind: 'state' as const, name: 'state-1.sealed', bytes, sha256 }
  const work: ParkedWork = {
    ...{ commit: null, pushed: true, notPushed: null, aside: [], state: null, snapshot: null },
    files: [{ ...state, contentSha256: content.sha256 }],
  }
  const file = join(sample.folder, 'moved.ballet')
  const { repo, baseBranch, branch, mirrorDir } = sample.plan()
  const plan = {
    ...{ folder, file, passphrase, work, key: KEY.toString('base64'), keptDir },
    ...{ repo, baseBranch, branch, mirrorDir },
  }
  return { plan, file, pack: () => packSession(sample.git, plan, never) }
}

const unpack = (file: string, words = passphrase, folder = join(sample.folder, 'in')) =>
  unpackSession({ file, passphrase: words, folder, key: OTHER_KEY.toString('base64') }, never)

it('comes apart as it was put together, sealed with the key of the other host', async () => {
  const { file, pack } = await packed()
  const { bytes } = await pack()
  const info = await stat(file)
  expect(info.size).toBe(bytes)
  if (process.platform !== 'win32') expect(info.mode & 0o777).toBe(0o600)
  expect((await readFile(file, 'latin1')).includes('conversation')).toBe(false)
  const { files } = await unpack(file)
  expect(files).toMatchObject([{ kind: 'state', contentSha256: expect.any(String) }])
  const folder = join(sample.folder, 'in')
  expect(await readFile(join(folder, 'session.json'), 'utf8')).toBe('{"version":1}')
  expect(await readFile(join(folder, 'blobs', 'b'.repeat(64)), 'utf8')).toBe('a blob')
  expect(await readdir(join(folder, 'sealed'))).toEqual([files[0]?.name])
  // What was opened on the way does not stay.
  expect(await readdir(join(folder, 'kept'))).toEqual([])
})

it('is written once where two write to the same name, and leaves nothing else beside it', async () => {
  const { plan, file } = await packed()
  const folder = join(sample.folder, 'out too')
  await cp(plan.folder, folder, { recursive: true })
  const before = await readdir(sample.folder)
  const both = await Promise.allSettled(
    [plan, { ...plan, folder }].map((each) => packSession(sample.git, each, never)),
  )
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'export.exists' },
  })
  expect((await readdir(sample.folder)).sort()).toEqual([...before, 'moved.ballet'].sort())
  await unpack(file)
})

it('a damaged kept file is named with the way on, and no file is written', async () => {
  const { plan, file, pack } = await packed()
  const kept = join(plan.keptDir, 'state-1.sealed')
  await truncate(kept, 40)
  for (const code of ['state.corrupt', 'state.missing']) {
    await expect(pack()).rejects.toEqual(
      expect.objectContaining({
        ...{ code, message: expect.stringContaining('state-1.sealed') },
        hint: expect.stringContaining('To go on without it'),
      }),
    )
    await rm(kept, { force: true })
  }
  expect(await readdir(sample.folder)).not.toContain(file.split('/').at(-1))
})

it('is not opened by another passphrase, nor damaged, nor from the future; nothing is written over', async () => {
  const { file, pack } = await packed()
  await pack()
  await expect(pack()).rejects.toMatchObject({ code: 'export.exists' })
  await expect(unpack(file, 'another passphrase')).rejects.toMatchObject({
    code: 'export.wrong-passphrase',
  })
  const bytes = await readFile(file)
  const bad = join(sample.folder, 'bad.ballet')
  const changed = async (at: number, to: number) => {
    const copy = Buffer.from(bytes)
    copy.writeUInt8(to, at)
    await writeFile(bad, copy)
    await rm(join(sample.folder, 'in'), { recursive: true, force: true })
    return unpack(bad)
  }
  await expect(changed(0, 1)).rejects.toMatchObject({ code: 'export.unknown' })
  await expect(changed(8, 2)).rejects.toMatchObject({ code: 'export.newer' })
  // A file must not make this machine work for hours, or take all of its memory.
  await expect(changed(9, 60)).rejects.toMatchObject({ code: 'export.unknown' })
  const last = bytes.length - 1
  await expect(changed(last, (bytes[last] ?? 0) ^ 1)).rejects.toMatchObject({
    code: 'export.corrupt',
  })
  await expect(unpack(join(sample.folder, 'none'))).rejects.toMatchObject({
    code: 'export.not-found',
  })
})
