import { expect, it } from 'vitest'
import { importCommand } from '../../../src-shared/moving.ts'
import { checkMove } from './moves.ts'

const whole = { file: ' /home/ada/shop-1.ballet', passphrase: 'correct horse' }

it('a path that is not whole, a short passphrase and two that differ are told at their fields', () => {
  expect(checkMove(whole)).toEqual({})
  expect(checkMove({ ...whole, file: 'C:\\shop.ballet', again: whole.passphrase })).toEqual({})
  expect(checkMove({ file: 'shop-1.ballet', passphrase: 'short', again: 'other' })).toEqual({
    file: expect.stringContaining('whole path'),
    passphrase: 'a passphrase has 8 characters at least.',
    again: 'The two differ.',
  })
})

it('the command that takes a file in can be pasted into a shell', () => {
  expect(importCommand('/home/ada/shop-1.ballet')).toBe(
    'ballet session import /home/ada/shop-1.ballet',
  )
  expect(importCommand("/tmp/ada's file")).toBe(`ballet session import '/tmp/ada'\\''s file'`)
})
