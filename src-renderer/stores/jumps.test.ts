import { expect, it } from 'vitest'
import { createJumps } from './jumps.ts'

function open() {
  const clock = { now: 0 }
  return { clock, jumps: createJumps(() => clock.now) }
}

it('lets no key decide what came by itself until it was there for 700 ms', () => {
  const { clock, jumps } = open()
  jumps.jumped('request')
  clock.now = 300
  expect(jumps.isUnread('request')).toBe(true)
  clock.now = 1_000
  expect(jumps.isUnread('request')).toBe(false)
})

it('waits anew with every key that came too soon', () => {
  const { clock, jumps } = open()
  jumps.jumped('request')
  for (clock.now = 300; clock.now < 3_000; clock.now += 300) {
    expect(jumps.isUnread('request')).toBe(true)
  }
  clock.now += 700
  expect(jumps.isUnread('request')).toBe(false)
})

it('takes the keys of who moved to it at once', () => {
  const { jumps } = open()
  expect(jumps.isUnread('request')).toBe(false)
  jumps.jumped('request')
  jumps.moved('another')
  expect(jumps.isUnread('request')).toBe(true)
  jumps.moved('request')
  expect(jumps.isUnread('request')).toBe(false)
})

it('takes a second Enter for one that was meant for what stood there before, but not later', () => {
  const { clock, jumps } = open()
  jumps.jumped('question')
  clock.now = 299
  expect(jumps.isSecondPress('question')).toBe(true)
  clock.now = 300
  expect(jumps.isSecondPress('question')).toBe(false)
  jumps.jumped('question')
  jumps.moved('question')
  expect(jumps.isSecondPress('question')).toBe(false)
})
