import { expect, it } from 'vitest'
import { fitInto } from './fit.ts'

const area = { x: 0, y: 30, width: 1_280, height: 690 }

it.each([
  ['too large', { x: 0, y: 0, width: 1_360, height: 860 }, area],
  [
    'half outside',
    { x: 900, y: 500, width: 800, height: 420 },
    { ...area, x: 480, y: 300, width: 800, height: 420 },
  ],
  ['on it', { x: 10, y: 40, width: 640, height: 420 }, { x: 10, y: 40, width: 640, height: 420 }],
])('a window that is %s ends up on its screen', (_, place, fitted) => {
  expect(fitInto(place, area)).toEqual(fitted)
})
