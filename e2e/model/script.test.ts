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

describe('the script of a planner', () => {
  const own = [{ text: 'planned' }]

  it.each([
    ['inline', `@@planner:${JSON.stringify(own)}@@`],
    ['encoded', encodeScript(own, 'planner')],
  ])('is found by a planner and passed over by a session: %s', (_, script) => {
    const text = `@@[{"text":"first"}]@@ Which? ${script} Well?`
    expect(findScript(text, 'planner')).toEqual({ kind: 'steps', steps: own })
    expect(findScript(text)).toEqual({ kind: 'steps', steps: [{ text: 'first' }] })
    expect(findScript(script)).toBeUndefined()
  })

  it('may be a name', () => {
    expect(findScript('Which? @@planner:false-quote@@', 'planner')).toEqual({
      kind: 'named',
      name: 'false-quote',
    })
  })

  it('is the one of the question, not the text of it in the script of a session', () => {
    const question = `Which? @@planner:${JSON.stringify(own)}@@`
    const asking = [{ tool: 'mcp__ballet__ask_question', input: { question } }, { text: 'Asked.' }]
    const ticket = `Do it. @@${JSON.stringify(asking)}@@`
    expect(findScript(ticket)).toEqual({ kind: 'steps', steps: asking })
    expect(findScript(ticket, 'planner')).toBeUndefined()
    expect(findScript(`${ticket}\n${question}`, 'planner')).toEqual({ kind: 'steps', steps: own })
  })
})

describe('parseScriptBook', () => {
  it('refuses a name that no marker can hold', () => {
    expect(() => parseScriptBook({ scripts: [{ name: 'My Demo', steps: [] }] })).toThrow(/name/u)
  })
})
