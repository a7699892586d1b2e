/** Red, green, blue. */
type Colour = readonly [number, number, number]

const INK: Colour = [124, 156, 255]
const PAPER: Colour = [15, 17, 21]
const ALERT: Colour = [224, 178, 82]

/** Three by five points each, a row after the other. */
const SIGNS: Readonly<Record<string, string>> = {
  '0': '111101101101111',
  '1': '010110010010111',
  '2': '111001111100111',
  '3': '111001111001111',
  '4': '101101111001001',
  '5': '111100111001111',
  '6': '111100111101111',
  '7': '111001001010010',
  '8': '111101111101111',
  '9': '111101111001111',
  '+': '000010111010000',
}

/** A picture of `size` by `size` points, four bytes each: blue, green, red, alpha. */
export type Bitmap = { size: number; bytes: Buffer }

/** The application's sign, three agents at work, and how much waits where something does. */
export function signBitmap(size: number, count: number): Bitmap {
  const bitmap = blank(size)
  paint(bitmap, INK, roundedBox(0.04 * size, 0.04 * size, 0.92 * size, 0.92 * size, 0.22 * size))
  for (const [at, length] of [0.56, 0.36, 0.48].entries()) {
    const top = (0.22 + at * 0.21) * size
    paint(bitmap, PAPER, roundedBox(0.2 * size, top, length * size, 0.13 * size, 0.065 * size))
  }
  if (count > 0) drawCount(bitmap, count, 0.66)
  return bitmap
}

/** Only the count, to lie over another icon. */
export function countBitmap(size: number, count: number): Bitmap {
  const bitmap = blank(size)
  drawCount(bitmap, count, 1)
  return bitmap
}

const blank = (size: number): Bitmap => ({ size, bytes: Buffer.alloc(size * size * 4) })

/** In the lower right corner, `part` of the picture's width. */
function drawCount(bitmap: Bitmap, count: number, part: number): void {
  const { size } = bitmap
  const width = size * part
  const corner = size - width
  paint(bitmap, ALERT, roundedBox(corner, corner, width, width, width / 2))
  const text = count > 9 ? '9+' : String(count)
  const points = text.length * 4 - 1
  const point = Math.max(1, Math.floor((width * 0.66) / Math.max(5, points)))
  const left = Math.round(corner + (width - points * point) / 2)
  const top = Math.round(corner + (width - 5 * point) / 2)
  for (const [at, sign] of [...text].entries()) {
    for (const [index, set] of [...(SIGNS[sign] ?? '')].entries()) {
      if (set !== '1') continue
      const x = left + (at * 4 + (index % 3)) * point
      const y = top + Math.floor(index / 3) * point
      paint(bitmap, PAPER, (px, py) => px >= x && px < x + point && py >= y && py < y + point)
    }
  }
}

type Inside = (x: number, y: number) => boolean

function roundedBox(
  left: number,
  top: number,
  width: number,
  height: number,
  round: number,
): Inside {
  return (x, y) => {
    const across = Math.max(left + round - x, x - (left + width - round), 0)
    const down = Math.max(top + round - y, y - (top + height - round), 0)
    return Math.hypot(across, down) <= round
  }
}

/** Sixteen looks a point, so that edges are smooth. */
const LOOKS = [0.125, 0.375, 0.625, 0.875]

function paint({ size, bytes }: Bitmap, [red, green, blue]: Colour, inside: Inside): void {
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      let hits = 0
      for (const dx of LOOKS) for (const dy of LOOKS) if (inside(x + dx, y + dy)) hits += 1
      if (hits === 0) continue
      const part = hits / 16
      const at = (y * size + x) * 4
      const mix = (offset: number, value: number) => {
        bytes[at + offset] = Math.round(value * part + (bytes[at + offset] ?? 0) * (1 - part))
      }
      mix(0, blue)
      mix(1, green)
      mix(2, red)
      mix(3, 255)
    }
  }
}
