import { expect, test } from 'vitest'
import { remoteKey } from './remote-key.ts'

test('addresses of one remote are alike, others are not', () => {
  const same = [
    'https://github.example/team/shop.git',
    'https://person:secret@GitHub.example/team/shop',
    'ssh://git@github.example:22/team/shop.git/',
    'git@github.example:team/shop.git',
  ]
  expect(new Set(same.map(remoteKey))).toEqual(new Set(['github.example/team/shop']))
  expect(remoteKey('file:///srv/shop.git')).toBe(remoteKey('/srv/shop'))
  expect(remoteKey('/srv/shop')).not.toBe(remoteKey('/srv/other'))
  expect(remoteKey('https://github.example/team/other')).not.toBe(remoteKey(same[0] ?? ''))
  expect(remoteKey('C:\\work\\shop.git')).toBe('C:\\work\\shop')
})
