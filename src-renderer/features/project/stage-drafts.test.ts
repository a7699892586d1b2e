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
  args: '',
  ...more,
})

describe('the stages of a project’s form', () => {
  it('come back as they were, also one without arguments', () => {
    const stages = {
      plan: { model: 'opus', skill: 'Only plan.' },
      review: { runtime: 'codex' as const, runtimeArgs: ['--strict', '--log off'] },
      ship: { runtimeArgs: [] },
    }
    expect(stagesOf(textOfStages(stages))).toEqual(stages)
    expect(textOfStages({})).toBe('')
    expect(stageDrafts('')).toEqual([])
    expect(stageDrafts(textOfStages(stages))[1]?.args).toBe('--strict\n--log off')
    const typed = stagesText([row('ship', { args: '--fast\n\n', hasNone: true })])
    expect(stagesOf(typed)).toEqual({ ship: { runtimeArgs: ['--fast'] } })
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
