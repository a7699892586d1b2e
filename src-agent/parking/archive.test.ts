import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Headers, pack } from 'tar-stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { extractInto, packEntries } from './archive.ts'
import { absolutePath } from './path-bytes.ts'
import { openSealed, sealStream } from './sealed-file.ts'

let folder: string
let target: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-archive-'))
  target = join(folder, 'target')
  await mkdir(target)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const corrupt = expect.objectContaining({ code: 'state.corrupt' })
const inBytes = (text: string) => Buffer.from(text).toString('latin1')

function tarOf(...entries: [Headers, string?][]): AsyncIterable<Uint8Array> {
  const archive = pack()
  for (const [header, content] of entries) archive.entry(header, content ?? '')
  archive.finalize()
  return archive
}

describe('an archive', () => {
  it('brings back files, modes, links, folders and names of any bytes', async () => {
    const from = join(folder, 'from')
    const large = Buffer.alloc(3_000_000, 'large ')
    const paths = [
      'run.sh',
      inBytes('ü "q"\n.txt'),
      'no\xff\xfeutf8',
      'deep/er/large.bin',
      'empty',
      'bytes:odd',
    ]
    await mkdir(join(from, 'deep', 'er'), { recursive: true })
    for (const path of paths)
      await writeFile(absolutePath(from, path), path === 'empty' ? '' : path)
    await writeFile(join(from, 'deep', 'er', 'large.bin'), large)
    await chmod(join(from, 'run.sh'), 0o750)
    await symlink('../outside/no\u00fc', join(from, 'link'))
    await symlink(Buffer.from('no\xff', 'latin1'), join(from, 'odd-link'))
    await mkdir(join(from, 'nothing in it'))
    const all = [...paths, 'link', 'odd-link', 'nothing in it', `long/${'x'.repeat(200)}`]
    await mkdir(join(from, 'long'))
    await writeFile(join(from, 'long', 'x'.repeat(200)), 'long name')
    const entries = all.map((path) => ({ path, source: absolutePath(from, path) }))
    const written = await extractInto(packEntries(entries), target)
    expect(written.sort()).toEqual(all.filter((path) => path !== 'nothing in it').sort())
    for (const path of paths) {
      const back = await readFile(absolutePath(target, path))
      expect(back.equals(await readFile(absolutePath(from, path)))).toBe(true)
    }
    expect((await lstat(join(target, 'run.sh'))).mode & 0o777).toBe(0o750)
    expect(await readlink(join(target, 'link'))).toBe('../outside/no\u00fc')
    const odd = await readlink(join(target, 'odd-link'), { encoding: 'buffer' })
    expect(odd.toString('latin1')).toBe('no\xff')
    expect((await lstat(join(target, 'nothing in it'))).isDirectory()).toBe(true)
  })

  it.each<[string, Headers]>([
    ['a path upwards', { name: '../escaped' }],
    ['a path upwards in the middle', { name: 'a/../../escaped' }],
    ['an absolute path', { name: '/tmp/ballet-escaped' }],
    ['an empty part', { name: 'a//b' }],
    ['a device', { name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }],
    ['a hard link', { name: 'hard', type: 'link', linkname: '/etc/hostname' }],
    ['bytes that lead upwards', { name: `bytes:${Buffer.from('../x\xff').toString('base64url')}` }],
  ])('with %s is refused', async (_, header) => {
    await expect(extractInto(tarOf([header]), target)).rejects.toEqual(corrupt)
    expect(await readdir(folder)).toEqual(['target'])
    expect(await readdir(target)).toEqual([])
  })

  it('writes through no link, its own or one that is there', async () => {
    const outside = join(folder, 'outside')
    await mkdir(outside)
    const link: Headers = { name: 'way', type: 'symlink', linkname: outside }
    await expect(extractInto(tarOf([link], [{ name: 'way/file' }, 'x']), target)).rejects.toEqual(
      corrupt,
    )
    await symlink(outside, join(target, 'there'))
    await expect(extractInto(tarOf([{ name: 'there/file' }, 'x']), target)).rejects.toEqual(corrupt)
    await expect(extractInto(tarOf([{ name: 'there' }, 'x']), target)).rejects.toEqual(corrupt)
    expect(await readdir(outside)).toEqual([])
  })

  it('of a file that is not there, or a damaged one, says what its source says', async () => {
    const missing = [{ path: 'a', source: join(folder, 'missing') }]
    const reading = sealStream(packEntries(missing), join(folder, 'sealed'), Buffer.alloc(32))
    await expect(reading).rejects.toMatchObject({ code: 'ENOENT' })
    await writeFile(join(folder, 'big'), Buffer.alloc(400_000, 'a lot'))
    const entries = [{ path: 'big', source: join(folder, 'big') }]
    const sealed = await sealStream(packEntries(entries), join(folder, 'sealed'), Buffer.alloc(32))
    const bytes = await readFile(sealed.file)
    bytes[100] = (bytes[100] ?? 0) ^ 1
    await writeFile(sealed.file, bytes)
    await expect(extractInto(openSealed(sealed.file, Buffer.alloc(32)), target)).rejects.toEqual(
      corrupt,
    )
  })
})
