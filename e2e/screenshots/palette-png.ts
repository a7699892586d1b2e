import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** Pixels as 0xRRGGBB, row by row. */
export type Picture = {
  readonly width: number
  readonly height: number
  readonly pixels: Uint32Array
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS = 256
const RGB = 2
const RGBA = 6

/**
 * The pixels of a PNG of 8 bits a channel without interlacing, as browsers write them; what is see-through is dropped.
 * @throws Error for any other file
 */
export function readPng(file: Buffer): Picture {
  if (!file.subarray(0, 8).equals(SIGNATURE)) throw new Error('not a PNG')
  const width = file.readUInt32BE(16)
  const height = file.readUInt32BE(20)
  const [depth, kind, , , interlace] = file.subarray(24, 29)
  if (depth !== 8 || (kind !== RGB && kind !== RGBA) || interlace !== 0) {
    throw new Error(`a PNG of another kind: depth ${depth}, colour type ${kind}`)
  }
  const parts: Buffer[] = []
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at)
    if (file.toString('latin1', at + 4, at + 8) === 'IDAT') {
      parts.push(file.subarray(at + 8, at + 8 + length))
    }
    at += length + 12
  }
  const step = kind === RGB ? 3 : 4
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * step, height, step)
  const pixels = new Uint32Array(width * height)
  for (let at = 0; at < pixels.length; at += 1) {
    const from = at * step
    pixels[at] = (byte(bytes, from) << 16) | (byte(bytes, from + 1) << 8) | byte(bytes, from + 2)
  }
  return { width, height, pixels }
}

const byte = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0

/** Undoes the five filters of the format. */
function unfiltered(raw: Buffer, row: number, height: number, step: number): Uint8Array {
  const out = new Uint8Array(row * height)
  for (let y = 0; y < height; y += 1) {
    const filter = byte(raw, y * (row + 1))
    for (let x = 0; x < row; x += 1) {
      const at = y * row + x
      const left = x < step ? 0 : byte(out, at - step)
      const up = y === 0 ? 0 : byte(out, at - row)
      const corner = x < step || y === 0 ? 0 : byte(out, at - row - step)
      out[at] = byte(raw, y * (row + 1) + 1 + x) + predicted(filter, left, up, corner)
    }
  }
  return out
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}

const channel = (colour: number, at: number) => (colour >> (16 - 8 * at)) & 0xff

type Box = {
  readonly colours: number[]
  readonly weight: number
  readonly spread: number
  readonly along: number
}

function boxOf(colours: number[], counts: ReadonlyMap<number, number>): Box {
  let [spread, along] = [-1, 0]
  for (let at = 0; at < 3; at += 1) {
    const values = colours.map((colour) => channel(colour, at))
    const size = Math.max(...values) - Math.min(...values)
    if (size > spread) [spread, along] = [size, at]
  }
  const weight = colours.reduce((sum, colour) => sum + Math.sqrt(counts.get(colour) ?? 0), 0)
  return { colours, weight, spread, along }
}

/**
 * At most 256 colours that stand for those of the picture; all of them where there are no more. `flat`: how many pixels of
 * a colour stand in an area of it, as those of a small dot do and those of the edges of letters do not.
 */
export function paletteOf(
  counts: ReadonlyMap<number, number>,
  flat: ReadonlyMap<number, number> = counts,
): number[] {
  const all = [...counts.keys()]
  if (all.length <= COLOURS) return all
  // Areas keep exactly their colour; the edges of letters share the rest.
  const rank = (colour: number) => [flat.get(colour) ?? 0, counts.get(colour) ?? 0] as const
  all.sort((a, b) => rank(b)[0] - rank(a)[0] || rank(b)[1] - rank(a)[1])
  const common = all.slice(0, COLOURS / 2)
  let boxes = [boxOf(all.slice(COLOURS / 2), counts)]
  while (boxes.length < COLOURS / 2) {
    const widest = boxes.reduce((a, b) => (b.spread * b.weight > a.spread * a.weight ? b : a))
    if (widest.colours.length < 2) break
    const { along } = widest
    const sorted = [...widest.colours].sort((a, b) => channel(a, along) - channel(b, along))
    const middle = sorted.length >> 1
    boxes = boxes.filter((box) => box !== widest)
    boxes.push(boxOf(sorted.slice(0, middle), counts), boxOf(sorted.slice(middle), counts))
  }
  const means = boxes.map(({ colours }) => {
    const mean = (at: number) =>
      Math.round(colours.reduce((sum, colour) => sum + channel(colour, at), 0) / colours.length)
    return (mean(0) << 16) | (mean(1) << 8) | mean(2)
  })
  return [...new Set([...common, ...means])]
}

function nearest(palette: readonly number[], colour: number): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY]
  for (const [at, other] of palette.entries()) {
    let distance = 0
    for (let part = 0; part < 3; part += 1) {
      distance += (channel(colour, part) - channel(other, part)) ** 2
    }
    if (distance < least) [best, least] = [at, distance]
  }
  return best
}

/** The picture as a PNG with a palette: about half as large as one in full colour. */
export function writePng({ width, height, pixels }: Picture): Buffer {
  const counts = new Map<number, number>()
  const flat = new Map<number, number>()
  for (const [at, colour] of pixels.entries()) {
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
    const isFlat = at % width > 0 && pixels[at - 1] === colour && pixels[at - width] === colour
    if (isFlat) flat.set(colour, (flat.get(colour) ?? 0) + 1)
  }
  const palette = paletteOf(counts, flat)
  const places = new Map<number, number>(palette.map((colour, at) => [colour, at]))
  const raw = Buffer.alloc((width + 1) * height)
  for (let at = 0; at < pixels.length; at += 1) {
    const colour = pixels[at] ?? 0
    let place = places.get(colour)
    if (place === undefined) {
      place = nearest(palette, colour)
      places.set(colour, place)
    }
    raw[at + Math.floor(at / width) + 1] = place
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(
    palette.flatMap((colour) => [0, 1, 2].map((at) => channel(colour, at))),
  )
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(raw, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
