import { deflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { paletteOf, readPng, writePng } from './palette-png.ts'

const countsOf = (colours: readonly number[]) => new Map(colours.map((colour) => [colour, 1]))

it('keeps every colour where a palette holds them all', () => {
  const colours = Array.from({ length: 256 }, (_, at) => at * 65_793)
  expect(paletteOf(countsOf(colours))).toEqual(colours)
})

it('takes at most 256 of more colours, and the common ones as they are', () => {
  const counts = countsOf(Array.from({ length: 4_000 }, (_, at) => at * 4_001))
  counts.set(0x0f1115, 1_000_000)
  const palette = paletteOf(counts)
  expect(palette.length).toBeLessThanOrEqual(256)
  expect(palette).toContain(0x0f1115)
})

it('keeps the colour of a small dot among letters of many colours', () => {
  const width = 64
  const pixels = Uint32Array.from({ length: width * width }, (_, at) => (at * 4_001) & 0xffffff)
  for (let y = 10; y < 18; y += 1) pixels.fill(0x6643ad, y * width + 10, y * width + 18)
  const picture = writePng({ width, height: width, pixels })
  const palette = picture.subarray(picture.indexOf('PLTE') + 4)
  const colours = Array.from({ length: 256 }, (_, at) => palette.readUIntBE(at * 3, 3))
  expect(colours).toContain(0x6643ad)
})

it('reads what a browser writes, and writes what anybody reads', () => {
  // Two rows of two pixels: the second row as differences to the one above (filter 2).
  const raw = Buffer.from([0, 10, 20, 30, 255, 1, 2, 3, 255, 2, 1, 1, 1, 0, 0, 0, 0, 0])
  const plain = writePng({ width: 2, height: 2, pixels: Uint32Array.from([1, 2, 3, 4]) })
  const file = withData(plain, raw)
  const picture = readPng(file)
  expect([...picture.pixels]).toEqual([0x0a141e, 0x010203, 0x0b151f, 0x010203])
  expect(plain.subarray(1, 4).toString()).toBe('PNG')
  expect(plain.readUInt8(25)).toBe(3)
})

it('refuses what is no such file', () => {
  expect(() => readPng(Buffer.from('GIF89a and more than that'))).toThrow('not a PNG')
})

/** The same head with colour type 6, and other data. */
function withData(file: Buffer, raw: Buffer): Buffer {
  const data = deflateSync(raw)
  const head = Buffer.from(file.subarray(0, 33))
  head.writeUInt8(6, 25)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  return Buffer.concat([head, length, Buffer.from('IDAT'), data, Buffer.alloc(4)])
}
