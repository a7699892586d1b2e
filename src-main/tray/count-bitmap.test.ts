import { expect, test } from 'vitest'
import { type Bitmap, countBitmap, signBitmap } from './count-bitmap.ts'

function pixel({ size, bytes }: Bitmap, x: number, y: number): number[] {
  const at = (y * size + x) * 4
  return [...bytes.subarray(at, at + 4)]
}

test('the sign is opaque inside and clear at its corners', () => {
  const sign = signBitmap(44, 0)
  expect(sign.bytes).toHaveLength(44 * 44 * 4)
  expect(pixel(sign, 0, 0)).toEqual([0, 0, 0, 0])
  expect(pixel(sign, 22, 4)).toEqual([255, 156, 124, 255])
})

test('each count has a picture of its own, up to nine and more', () => {
  const pictures = Array.from({ length: 11 }, (_, count) =>
    signBitmap(44, count).bytes.toString('hex'),
  )
  expect(new Set(pictures).size).toBe(11)
  expect(signBitmap(44, 50).bytes.toString('hex')).toBe(pictures[10])
})

test('the count alone is a round mark with a figure in it', () => {
  const mark = countBitmap(32, 1)
  expect(pixel(mark, 0, 0)).toEqual([0, 0, 0, 0])
  expect(pixel(mark, 16, 1)).toEqual([82, 178, 224, 255])
  expect(pixel(mark, 15, 15)).toEqual([21, 17, 15, 255])
})
