import { describe, expect, it } from 'vitest'
import { chooseStep } from './choose-step.ts'
import type { ContentBlock, Message, MessagesRequest } from './messages.ts'
import type { ScriptBook } from './script.ts'

const SCRIPT = '@@[{"text":"one","tool":"Bash","input":{"command":"ls"}},{"text":"two"}]@@'

const text = (value: string): ContentBlock => ({ type: 'text', text: value })
const result = (value: string): ContentBlock => ({ type: 'tool_result', content: value })
const user = (...content: ContentBlock[]): Message => ({ role: 'user', content })
const assistant = (value: string): Message => ({ role: 'assistant', content: [text(value)] })
const system = (value: string): Message => ({ role: 'system', content: [text(value)] })

function request(messages: Message[], more: Partial<MessagesRequest> = {}): MessagesRequest {
  return {
    model: 'm',
    stream: true,
    messages,
    system: undefined,
    tools: ['Bash'],
    maxTokens: 1000,
    ...more,
  }
}

function chosen(messages: Message[], book: ScriptBook = {}, more: Partial<MessagesRequest> = {}) {
  const choice = chooseStep(request(messages, more), book)
  if (choice.kind !== 'step') throw new Error(choice.message)
  return { ...choice.chosen, text: choice.step.text, step: choice.step, userText: choice.userText }
}

describe('chooseStep', () => {
  it('takes the step by the answers since the script', () => {
    const first = user(text('<system-reminder>x</system-reminder>'), text(SCRIPT))
    expect(chosen([first])).toMatchObject({ script: 'inline', index: 0, total: 2, text: 'one' })
    expect(chosen([first, assistant('one'), user(result('out'))])).toMatchObject({
      index: 1,
      text: 'two',
    })
  })

  it('takes content that is one string', () => {
    expect(chosen([{ role: 'user', content: SCRIPT }])).toMatchObject({ text: 'one' })
  })

  it('starts anew with a later script', () => {
    const messages = [user(text(SCRIPT)), assistant('one'), user(result('x')), assistant('two')]
    const next = user(text('again @@[{"text":"fresh"}]@@'))
    expect(chosen([...messages, next])).toMatchObject({ index: 0, text: 'fresh' })
  })

  it('answers a later text without a script by the fallback', () => {
    const messages = [user(text(SCRIPT)), assistant('one'), user(result('x')), assistant('two')]
    expect(chosen([...messages, user(text('And  now\nwhat?'))])).toMatchObject({
      script: 'fallback',
      text: 'ok: And now what?',
    })
  })

  it('cuts the fallback at 60 characters, not inside one', () => {
    const answer = chosen([user(text('🩰'.repeat(100)))]).text
    expect(answer).toBe(`ok: ${'🩰'.repeat(60)}`)
  })

  it('is over after the last step', () => {
    const messages = [user(text('@@[{"text":"only"}]@@')), assistant('only'), user(result('x'))]
    expect(chosen(messages)).toMatchObject({ text: 'The script is over.', index: 1, total: 1 })
  })

  it('does not go on with the script of an interrupted tool', () => {
    const messages = [
      user(text(SCRIPT)),
      assistant('one'),
      user(result('rejected'), text('[Request interrupted by user for tool use]\n'), text('Stop.')),
    ]
    expect(chosen(messages)).toMatchObject({ script: 'fallback', text: 'ok: Stop.' })
  })

  it('does not go on with an interrupted script that stands in the same message', () => {
    const messages = [user(text(SCRIPT), text('[Request interrupted by user]'), text('Go on.'))]
    expect(chosen(messages)).toMatchObject({ script: 'fallback', text: 'ok: Go on.' })
  })

  it('goes on when a text without a script was handed over mid-turn', () => {
    const during = text('The user sent a new message while you were working:\nAlso the README.')
    const messages = [user(text(SCRIPT)), assistant('one'), user(result('x'), during)]
    expect(chosen(messages)).toMatchObject({ script: 'inline', index: 1, text: 'two' })
  })

  it('starts the script that was handed over mid-turn', () => {
    const during = text(
      'The user sent a new message while you were working:\n@@[{"text":"steered"}]@@\n\nThis is how.',
    )
    const messages = [user(text(SCRIPT)), assistant('one'), user(result('x'), during)]
    expect(chosen(messages)).toMatchObject({ index: 0, text: 'steered' })
  })

  it('finds the script in any of several inputs of one message', () => {
    expect(chosen([user(text('first'), text(SCRIPT), text('third'))])).toMatchObject({
      text: 'one',
    })
  })

  it('reads no script in a tool result or in what the model said', () => {
    const messages = [user(text('hi')), assistant(SCRIPT), user(result(SCRIPT))]
    expect(chosen(messages)).toMatchObject({ script: 'fallback', userText: 'hi' })
  })

  it('goes on over a reminder that follows a tool result', () => {
    const reminder = text('<system-reminder>\nRemember @@other@@\n</system-reminder>')
    const messages = [user(text(SCRIPT)), assistant('one'), user(result('x'), reminder)]
    expect(chosen([...messages, system('# Environment')])).toMatchObject({ index: 1, text: 'two' })
  })

  it('refuses a script that cannot be read', () => {
    expect(chooseStep(request([user(text('@@[{]@@'))]), {})).toMatchObject({
      kind: 'refuse',
      message: expect.stringContaining('not JSON'),
    })
  })

  const book: ScriptBook = {
    scripts: [
      { name: 'demo', match: 'The greeting is wrong', steps: [{ text: 'demo one' }] },
      { name: 'slow', steps: [{ text: 'slow one' }] },
    ],
    fallback: { text: 'You said: {{user}}' },
  }

  it('finds a named script by its marker and by a piece of the text', () => {
    expect(chosen([user(text('@@slow@@'))], book)).toMatchObject({ script: 'slow', index: 0 })
    expect(chosen([user(text('# Fix\nThe greeting is wrong.'))], book)).toMatchObject({
      script: 'demo',
      text: 'demo one',
    })
    expect(chosen([user(text('hello'))], book)).toMatchObject({ text: 'You said: hello' })
  })

  it('refuses a name that it does not know, with those that it knows', () => {
    expect(chooseStep(request([user(text('@@nothing@@'))]), book)).toEqual({
      kind: 'refuse',
      message: 'No script is named nothing; known: demo, slow.',
    })
  })

  it('answers side requests without tools by a fixed text, scripted ones by their script', () => {
    expect(chosen([user(text('Write a title'))], {}, { tools: [] })).toMatchObject({
      script: 'no-tools',
    })
    expect(chosen([user(text(SCRIPT))], {}, { tools: [] })).toMatchObject({ script: 'inline' })
  })

  it('fills the folder and the text of the user into a step', () => {
    const script =
      '@@[{"text":"in {{cwd}}","tools":[{"name":"Read","input":{"file_path":"{{cwd}}/a","more":["{{cwd}}"]}}]}]@@'
    const where = system('# Environment\n - Primary working directory: /w/new (was /w/old)\n - x')
    const answer = chosen([user(text(script)), where], {}, { system: 'Working directory: /older' })
    expect(answer.step).toEqual({
      text: 'in /w/new',
      tools: [{ name: 'Read', input: { file_path: '/w/new/a', more: ['/w/new'] } }],
    })
  })

  it('leaves an optional tool out where the runtime has none', () => {
    const script =
      '@@[{"tools":[{"name":"TodoWrite","optional":true},{"name":"Read","optional":true},{"name":"Bash"}]}]@@'
    const names = (messages: Message[], tools: string[]): string[] | undefined =>
      chosen(messages, {}, { tools }).step.tools?.map((tool) => tool.name)
    expect(names([user(text(script))], ['Bash', 'Read'])).toEqual(['Read', 'Bash'])
    const deferred = system('These tools can be loaded:\nMonitor\nTodoWrite\n')
    expect(names([user(text(script)), deferred], ['Bash'])).toEqual(['TodoWrite', 'Bash'])
  })
})

describe("a planner's run", () => {
  const planner = {
    system: [{ type: 'text', text: "This is a read-only run of Ballet's planner." }],
    tools: ['Read', 'Grep', 'Glob'],
  }

  it('takes its own scripts and no others', () => {
    const prompt = `Ticket: ${SCRIPT} Question: Which? @@planner:[{"text":"planned"}]@@`
    expect(chosen([user(text(prompt))], {}, planner)).toMatchObject({ text: 'planned' })
    expect(chosen([user(text(prompt))])).toMatchObject({ text: 'one' })
  })

  it('is undecided without one, whatever the fallback of sessions is', () => {
    const messages = [user(text(`Ticket: ${SCRIPT} Question: Which?`))]
    expect(chosen(messages, { fallback: { text: 'hello' } }, planner)).toMatchObject({
      script: 'fallback',
      text: expect.stringContaining('"undecided"'),
    })
  })

  it('is chosen by a piece of its prompt only when the script is for planners', () => {
    const book: ScriptBook = {
      scripts: [
        { name: 'of-sessions', match: 'Which?', steps: [{ text: 'session' }] },
        { name: 'of-planners', match: 'Which?', planner: true, steps: [{ text: 'planner' }] },
      ],
    }
    const messages = [user(text('Which?'))]
    expect(chosen(messages, book, planner)).toMatchObject({ script: 'of-planners' })
    expect(chosen(messages, book)).toMatchObject({ script: 'of-sessions' })
  })
})
