import { describe, expect, it } from 'vitest'
import { sortOut } from './images.ts'

const file = (name: string, size: number, type = 'image/png') => ({ name, size, type })

describe('images of a message', () => {
  it('are taken in the order in which they came', () => {
    const files = [file('a.png', 10), file('b.jpg', 20, 'image/jpeg')]
    expect(sortOut(files, [])).toEqual({ taken: files, refusal: null })
  })

  it('that cannot be sent are named with the reason and the next step; the others are taken', () => {
    const { taken, refusal } = sortOut(
      [file('a.bmp', 10, 'image/bmp'), file('b.png', 10), file('c.txt', 10, 'text/plain')],
      [],
    )
    expect(taken.map(({ name }) => name)).toEqual(['b.png'])
    expect(refusal).toMatchObject({ code: 'image.type', hint: expect.stringContaining('PNG') })
    expect(refusal?.message).toContain('a.bmp')
  })

  it('are limited one by one, in number, and all together', () => {
    expect(sortOut([file('big.png', 5_000_001)], [])).toMatchObject({
      taken: [],
      refusal: { code: 'image.size' },
    })
    expect(sortOut([file('none.png', 0)], [])).toMatchObject({ refusal: { code: 'image.empty' } })
    const ten = Array.from({ length: 10 }, () => ({ bytes: 1 }))
    expect(sortOut([file('eleventh.png', 1)], ten)).toMatchObject({
      taken: [],
      refusal: { code: 'image.count' },
    })
    const four = Array.from({ length: 4 }, (_, at) => file(`${at}.png`, 4_900_000))
    expect(sortOut([...four, file('last.png', 4_900_000)], [])).toMatchObject({
      taken: four,
      refusal: { code: 'image.size' },
    })
  })
})
