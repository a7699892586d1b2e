import { describe, expect, it } from 'vitest'
import {
  stageDrafts,
  stagesChange,
  stagesOf,
  stagesText,
  textOfStages,
  wrongStages,
} from './stage-drafts.ts'

const row = (stage: string, more = {}) => ({
  stage,
  runtime: '' as const,
  model: '',
  skill: '',
  ...more,
})

describe('the stages of a project’s form', () => {
  it('come back as they were, also what the form does not show', () => {
    const stages = {
      plan: { model: 'opus', skill: 'Only plan.' },
      review: { runtime: 'codex' as const, runtimeArgs: ['--strict'] },
    }
    expect(stagesOf(textOfStages(stages))).toEqual(stages)
    expect(textOfStages({})).toBe('')
    expect(stageDrafts('')).toEqual([])
  })

  it('need names that are names, each once', () => {
    expect(wrongStages('')).toBeUndefined()
    expect(wrongStages(stagesText([row('plan'), row('review-2')]))).toBeUndefined()
    expect(wrongStages(stagesText([row(' ')]))).toContain('needs a name')
    expect(wrongStages(stagesText([row('Plan it')]))).toContain('“Plan it”')
    expect(wrongStages(stagesText([row('plan'), row('plan')]))).toContain('two stages plan')
  })

  it('change what changed, and take away what is gone', () => {
    const before = stagesText([row('plan', { model: 'opus' }), row('review')])
    expect(stagesChange(before, before)).toBeUndefined()
    const after = stagesText([row('plan', { model: 'haiku' }), row('ship', { runtime: 'codex' })])
    expect(stagesChange(before, after)).toEqual({
      plan: { model: 'haiku' },
      review: null,
      ship: { runtime: 'codex' },
    })
  })
})
