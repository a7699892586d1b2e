import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSealed, sealFile, sealStream, unsealFile, verifySealed } from './sealed-file.ts'

const key = Buffer.alloc(32, 7)
const CHUNK = 64 * 1024 + 16
const HEAD = 48
const END = 60

let folder: string
const at = (name: string) => join(folder, name)
const refusedWith = (code: string) => expect.objectContaining({ code })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ballet-sealed-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Random bytes are not made smaller: the sealed file has as many chunks as the content. */
async function seal(content: Buffer, name = 'sealed') {
  await writeFile(at('plain'), content)
  return sealFile(at('plain'), at(name), key)
}

describe('a sealed file', () => {
  it.each([0, 1, 65_535, 65_536, 65_537, 300_000])('of %i bytes gives them back', async (bytes) => {
    const content = randomBytes(bytes)
    const sealed = await seal(content)
    expect(sealed.bytes).toBe((await stat(sealed.file)).size)
    expect(sealed.content.bytes).toBe(bytes)
    const read = await unsealFile(sealed.file, at('back'), key, sealed.content)
    expect(read).toEqual(sealed.content)
    expect((await readFile(at('back'))).equals(content)).toBe(true)
    expect(await readdir(folder)).toEqual(['back', 'plain', 'sealed'])
  })

  it('is small for text, says nothing of its content, and never the same twice', async () => {
    const text = Buffer.from('the same line of a transcript\n'.repeat(20_000))
    const sealed = await seal(text)
    expect(sealed.bytes).toBeLessThan(text.length / 100)
    const again = await seal(text, 'again')
    expect(again.content).toEqual(sealed.content)
    expect(again.sha256).not.toBe(sealed.sha256)
    expect((await readFile(sealed.file)).includes('transcript')).toBe(false)
    expect((await stat(sealed.file)).mode & 0o777).toBe(0o600)
  })

  it('with another key: says that it is the key', async () => {
    const sealed = await seal(randomBytes(100))
    const wrong = Buffer.alloc(32, 8)
    await expect(verifySealed(sealed.file, wrong)).rejects.toEqual(refusedWith('state.wrong-key'))
    await expect(unsealFile(sealed.file, at('back'), wrong)).rejects.toThrow(/another key/)
    expect(await readdir(folder)).toEqual(['plain', 'sealed'])
  })

  it('that is not there: says so', async () => {
    await expect(verifySealed(at('none'), key)).rejects.toEqual(refusedWith('state.missing'))
  })

  type Damage = (bytes: Buffer) => Buffer
  const flipped = (place: (bytes: Buffer) => number) => (bytes: Buffer) => {
    const index = place(bytes)
    bytes[index] = (bytes[index] ?? 0) ^ 1
    return bytes
  }
  const swapped: Damage = (bytes) =>
    Buffer.concat([
      bytes.subarray(0, HEAD),
      bytes.subarray(HEAD + CHUNK, HEAD + 2 * CHUNK),
      bytes.subarray(HEAD, HEAD + CHUNK),
      bytes.subarray(HEAD + 2 * CHUNK),
    ])
  const withoutFirst: Damage = (bytes) =>
    Buffer.concat([bytes.subarray(0, HEAD), bytes.subarray(HEAD + CHUNK)])
  const damages: readonly (readonly [string, Damage])[] = [
    ['nothing left', () => Buffer.alloc(0)],
    ['only its beginning', (bytes) => bytes.subarray(0, 30)],
    ['one byte less', (bytes) => bytes.subarray(0, -1)],
    ['one chunk less', (bytes) => bytes.subarray(0, bytes.length - CHUNK)],
    ['its end missing', (bytes) => bytes.subarray(0, bytes.length - END)],
    ['one byte more', (bytes) => Buffer.concat([bytes, Buffer.from([0])])],
    ['another file after it', (bytes) => Buffer.concat([bytes, bytes])],
    ['two chunks swapped', swapped],
    ['its first chunk missing', withoutFirst],
    ['a flipped bit in its mark', flipped(() => 0)],
    ['a flipped bit in its salt', flipped(() => 10)],
    ['a flipped bit in its key check', flipped(() => 26)],
    ['a flipped bit in a chunk', flipped(() => HEAD + CHUNK + 5)],
    ['a flipped bit in its end', flipped((bytes) => bytes.length - 50)],
    ['zeros after a power cut', (bytes) => bytes.fill(0, HEAD + CHUNK)],
  ]
  it.each(damages)('with %s: is corrupt, and nothing comes of it', async (_, damage) => {
    const sealed = await seal(randomBytes(300_000))
    await writeFile(sealed.file, damage(await readFile(sealed.file)))
    const reading = unsealFile(sealed.file, at('back'), key)
    await expect(reading).rejects.toEqual(refusedWith('state.corrupt'))
    expect(await readdir(folder)).toEqual(['plain', 'sealed'])
  })

  it('takes no chunk of another file with the same key', async () => {
    const one = await seal(randomBytes(300_000), 'one')
    const two = await seal(randomBytes(300_000), 'two')
    const bytes = await readFile(one.file)
    ;(await readFile(two.file)).copy(bytes, HEAD, HEAD, HEAD + CHUNK)
    await writeFile(one.file, bytes)
    await expect(verifySealed(one.file, key)).rejects.toEqual(refusedWith('state.corrupt'))
  })

  it('that is whole, but another one than expected, is refused', async () => {
    const one = await seal(randomBytes(10), 'one')
    const two = await seal(randomBytes(10), 'two')
    const reading = verifySealed(one.file, key, two.content)
    await expect(reading).rejects.toEqual(refusedWith('state.corrupt'))
  })

  it('may be left in the middle', async () => {
    const sealed = await seal(randomBytes(3_000_000))
    for await (const piece of openSealed(sealed.file, key)) {
      expect(piece.length).toBeGreaterThan(0)
      break
    }
    await rm(sealed.file)
  })

  it('keeps what stood there when the source fails or it is cancelled', async () => {
    const before = await seal(Buffer.from('before'))
    async function* failing() {
      yield randomBytes(200_000)
      throw new Error('the source failed')
    }
    await expect(sealStream(failing(), before.file, key)).rejects.toThrow('the source failed')
    const stop = new AbortController()
    async function* endless() {
      for (let count = 0; ; count += 1) {
        if (count === 10) stop.abort()
        yield randomBytes(100_000)
      }
    }
    await expect(sealStream(endless(), before.file, key, stop.signal)).rejects.toThrow()
    expect(await verifySealed(before.file, key)).toEqual(before.content)
    expect(await readdir(folder)).toEqual(['plain', 'sealed'])
  })

  it('takes over from an attempt that was killed', async () => {
    await writeFile(at('sealed.part'), randomBytes(1_000_000))
    const sealed = await sealStream(Readable.from([Buffer.from('whole')]), at('sealed'), key)
    expect(await verifySealed(sealed.file, key)).toEqual(sealed.content)
    expect(await readdir(folder)).toEqual(['sealed'])
  })
})
