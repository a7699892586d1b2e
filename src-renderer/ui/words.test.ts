import { describe, expect, it } from 'vitest'
import { age, bytes, countdown, duration, elapsed, money, tokens } from './words.ts'

describe('how things are written', () => {
  it('durations', () => {
    expect(
      [40, 400, 8_420, 9_960, 72_000, 60_000, 7_500_000, 3_600_000, 90_000_000].map(duration),
    ).toEqual(['40 ms', '0.4 s', '8.4 s', '10 s', '1 m 12 s', '1 m', '2 h 5 m', '1 h', '1 d 1 h'])
    expect([-5, 999, 61_000].map(elapsed)).toEqual(['0 s', '0 s', '1 m 1 s'])
    expect([-5, 1, 372_000, 3_730_000].map(countdown)).toEqual(['0:00', '0:01', '6:12', '1:02:10'])
    expect([0, 59_000, 720_000, 7_200_000, 200_000_000].map(age)).toEqual([
      'now',
      'now',
      '12 m',
      '2 h',
      '2 d',
    ])
  })

  it('amounts', () => {
    expect([0, 0.62, 4.185, 0.0042, 0.00001, 1_234.5].map(money)).toEqual([
      '$0.00',
      '$0.62',
      '$4.19',
      '$0.0042',
      '<$0.0001',
      '$1,234.50',
    ])
    expect([812, 1_200, 38_200, 999_600, 1_250_000].map(tokens)).toEqual([
      '812',
      '1.2 k',
      '38 k',
      '1.0 M',
      '1.3 M',
    ])
    expect([0, 1_023, 16_384, 10_485_760].map(bytes)).toEqual(['0 B', '1023 B', '16 KB', '10 MB'])
  })
})
