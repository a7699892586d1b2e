import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDuration } from '../src/format-duration.js'

test('says seconds and minutes', () => {
  assert.equal(formatDuration(35), '35 s')
  assert.equal(formatDuration(95), '1 min 35 s')
  assert.equal(formatDuration(120), '2 min')
})

test('says hours', () => {
  assert.equal(formatDuration(3725), '1 h 2 min 5 s')
  assert.equal(formatDuration(7200), '2 h')
})

test('says that nothing is left', () => {
  assert.equal(formatDuration(0), '0 s')
})
