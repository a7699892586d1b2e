import { expect, it } from 'vitest'
import { ACP_CAPABILITIES, capabilitiesOf } from '../../../src-shared/runtimes.ts'
import { costText } from './cost.ts'

it('is a dash where the runtime never tells, also for an agent of the settings', () => {
  const told = new Map([['acp:gemini', { capabilities: { ...ACP_CAPABILITIES, cost: true } }]])
  expect(costText({ costUsd: 0 }, capabilitiesOf('acp:gemini', told))).toBe('$0.00')
  expect(costText({ costUsd: 0 }, capabilitiesOf('acp:mine', told))).toBe('—')
  // What another runtime of the session cost is shown all the same.
  expect(costText({ costUsd: 1.5 }, capabilitiesOf('acp:mine', told))).toBe('$1.50')
  expect(capabilitiesOf('acp:mine', new Map())).toBeUndefined()
  expect(capabilitiesOf('codex', told)).toBeUndefined()
})
