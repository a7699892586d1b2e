import { describe, expect, it } from 'vitest'
import { encodeScript, findScript, parseScriptBook } from './script.ts'

describe('findScript', () => {
  it('finds the steps between other text', () => {
    expect(findScript('hello @@[{"text":"a"}]@@ bye')).toEqual({
      kind: 'steps',
      steps: [{ text: 'a' }],
    })
  })

  it('takes the last script of several', () => {
    expect(findScript('@@[{"text":"a"}]@@ then @@[{"text":"b"}]@@')).toEqual({
      kind: 'steps',
      steps: [{ text: 'b' }],
    })
  })

  it('takes the outer script when a string of it holds another one', () => {
    const inner = '@@[{"text":"inner"}]@@'
    const outer = [{ tool: 'Agent', input: { prompt: inner } }, { text: 'after' }]
    expect(findScript(`x @@${JSON.stringify(outer)}@@`)).toEqual({ kind: 'steps', steps: outer })
  })

  it('reads an encoded script', () => {
    const script = [{ text: 'with "quotes", @@ and emoji 🩰' }]
    expect(findScript(`do ${encodeScript(script)} now`)).toEqual({ kind: 'steps', steps: script })
  })

  it('reads a name', () => {
    expect(findScript('run @@demo@@ please')).toEqual({ kind: 'named', name: 'demo' })
  })

  it('finds none in a text without one', () => {
    expect(findScript('mail a@@b, or @@ alone, or @@Not A Name@@')).toBeUndefined()
  })

  it.each([
    ['no JSON', '@@[{text}]@@', /not JSON/u],
    ['an unknown field', '@@[{"txt":"a"}]@@', /Unrecognized key.*txt/su],
    ['no end', '@@[{"text":"a"}]', /no end/u],
  ])('says what is wrong with a script that has %s', (_, text, reason) => {
    expect(findScript(text)).toEqual({ kind: 'invalid', reason: expect.stringMatching(reason) })
  })
})

describe('parseScriptBook', () => {
  it('refuses a name that no marker can hold', () => {
    expect(() => parseScriptBook({ scripts: [{ name: 'My Demo', steps: [] }] })).toThrow(/name/u)
  })
})
