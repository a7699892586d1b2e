import { describe, expect, it } from 'vitest'
import { readAnswer } from './read-answer.ts'

const ANSWER = { answer: 'Yes', citations: [{ source: 'a.md', place: 'line 1', quote: 'yes' }] }
const JSON_TEXT = JSON.stringify(ANSWER)

describe('the answer of a planner', () => {
  it.each([
    ['bare', JSON_TEXT],
    ['with space around it', `\n ${JSON.stringify(ANSWER, null, 2)}\n`],
    ['fenced', `\`\`\`json\n${JSON_TEXT}\n\`\`\``],
    ['fenced, with words around it', `Here it is:\n\n\`\`\`\n${JSON_TEXT}\n\`\`\`\nDone.`],
    ['the last of two blocks', `\`\`\`json\n{"x": 1}\n\`\`\`\n\`\`\`json\n${JSON_TEXT}\n\`\`\``],
    ['with words around it', `The answer is ${JSON_TEXT}, I think.`],
    ['with a field too many', JSON.stringify({ ...ANSWER, confidence: 1 })],
  ])('is read %s', (_what, text) => {
    expect(readAnswer(text)).toEqual(ANSWER)
  })

  it('may be that it is undecided, or cite nothing', () => {
    expect(readAnswer('{"undecided": "Nothing says so."}')).toEqual({
      undecided: 'Nothing says so.',
    })
    expect(readAnswer('{"answer": "Yes"}')).toEqual({ answer: 'Yes', citations: [] })
  })

  it.each([
    ['nothing', '', 'gave no answer'],
    ['words', 'Use PostgreSQL.', 'Use PostgreSQL.'],
    ['another object', '{"decision": "x"}', '{"decision": "x"}'],
    ['an empty answer', '{"answer": " ", "citations": []}', '"answer"'],
    ['a list', '[1, 2]', '[1, 2]'],
    ['half an object', '{"answer": "Yes", "citations": [', '{"answer": "Yes"'],
    ['a wrong citation', '{"answer": "Yes", "citations": ["a.md"]}', 'a.md'],
  ])('is none when it is %s', (_what, text, words) => {
    expect(() => readAnswer(text)).toThrow(
      expect.objectContaining({
        code: 'planner.unreadable',
        message: expect.stringContaining(words),
      }),
    )
  })

  it('keeps one citation more than Core takes, which then knows that it does not have all', () => {
    const citations = Array.from({ length: 100 }, () => ANSWER.citations[0])
    expect(readAnswer(JSON.stringify({ ...ANSWER, citations }))).toMatchObject({
      citations: { length: 21 },
    })
  })
})
