import { expect, it } from 'vitest'
import { agentOf, checkAgent, emptyAgent } from './own-agent-draft.ts'

const whole = { name: ' my-agent ', title: '', line: 'my-agent --acp "a b"' }

it('a bad name and a missing command are told at their fields', () => {
  expect(checkAgent(whole)).toEqual({})
  expect(checkAgent(emptyAgent)).toMatchObject({
    name: expect.stringContaining('needs a name'),
    line: expect.stringContaining('needs the command'),
  })
  for (const name of ['My Agent', '-x', 'a_b', 'a'.repeat(41)]) {
    expect(checkAgent({ ...whole, name }).name).toContain('is no name')
  }
  expect(checkAgent({ ...whole, line: '""' }).line).toContain('needs the command')
  expect(checkAgent({ ...whole, line: 'my "agent' }).line).toBe('A quote is not closed.')
  expect(checkAgent({ ...whole, line: 'x '.repeat(52) }).line).toContain('too many')
})

it('what is right is an agent, called by its name where it has no other', () => {
  expect(agentOf(whole)).toEqual({
    name: 'my-agent',
    agent: { title: 'my-agent', command: 'my-agent', args: ['--acp', 'a b'] },
  })
  expect(agentOf({ ...whole, title: ' Mine ' })?.agent.title).toBe('Mine')
  expect(agentOf({ ...whole, name: 'My' })).toBeNull()
})
