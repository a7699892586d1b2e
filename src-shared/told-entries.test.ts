import { expect, it } from 'vitest'
import type { EventBody } from './timeline.ts'
import { TOLD_NEWEST, toldEntries } from './told-entries.ts'

const said = (text: string, fields: object = {}) =>
  ({ kind: 'assistant.text', text, ...fields }) as EventBody

it('tells what was said, called and answered, by the name that the runtime has for it', () => {
  const call = { kind: 'tool.call', callId: 'c1', name: 'Bash', title: 'echo it', ref: 'r2' }
  const result = { kind: 'tool.result', callId: 'c1', status: 'ok', output: 'it\n', ref: 'r3' }
  expect(
    toldEntries([said('I look.', { ref: 'r1' }), call as EventBody, result as EventBody]),
  ).toEqual([
    { ref: 'r1', text: 'said: I look.' },
    { ref: 'r2', text: 'used Bash: echo it' },
    { ref: 'r3', text: 'was answered (ok): it' },
  ])
})

it('leaves out what has no name in the record, what subagents did, and what is no entry', () => {
  const thought = { kind: 'assistant.thinking', text: 'hm', ref: 'r1' } as EventBody
  expect(toldEntries([said('cut'), said('below', { ref: 'r2', parent: 'c1' }), thought])).toEqual(
    [],
  )
})

it('keeps the newest, and shortens what is long', () => {
  const many = Array.from({ length: TOLD_NEWEST + 3 }, (_, n) => said(`${n}`, { ref: `r${n}` }))
  const told = toldEntries([...many, said('x'.repeat(5_000), { ref: 'long' })])
  expect(told).toHaveLength(TOLD_NEWEST)
  expect(told[0]?.ref).toBe('r4')
  expect(told.at(-1)?.text).toHaveLength('said: '.length + 600)
})
