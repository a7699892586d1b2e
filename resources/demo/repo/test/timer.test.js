import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Timer } from '../src/timer.js'

test('counts down', () => {
  let now = 0
  const timer = new Timer(95, () => now)
  assert.equal(String(timer), '1 min 35 s left')
  now = 60_000
  assert.equal(String(timer), '35 s left')
})
