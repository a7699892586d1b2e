import { v7 as uuid } from 'uuid'
import type { EventBody } from '../src-shared/timeline.ts'

export type Sample = { readonly at: string; readonly body: EventBody }

const WORDS =
  'the agent reads a file and changes what the ticket asks for then runs the tests again until all of them pass'.split(
    ' ',
  )

/** Words in another order each time, about so many characters. */
export function words(seed: number, characters: number): string {
  let state = seed + 1
  let text = ''
  while (text.length < characters) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    text += `${WORDS[state % WORDS.length]} `
  }
  return text.slice(0, characters)
}

/** A session's events as a real one has them: turns of a text and eight tool calls with their results. */
export function sampleEvents(count: number): Sample[] {
  const events: Sample[] = []
  const begun = Date.parse('2026-01-01T00:00:00.000Z')
  for (let index = 0; index < count; index += 1) {
    const at = new Date(begun + index * 100).toISOString()
    const turn = 1 + Math.floor(index / 20)
    events.push({ at, body: bodyOf(index, turn, index === count - 1) })
  }
  return events
}

function bodyOf(index: number, turn: number, isLast: boolean): EventBody {
  const place = index % 20
  if (place === 0) return { kind: 'turn.started', turn, inputs: [] }
  if (isLast || place === 19) {
    return {
      kind: 'turn.ended',
      turn,
      reason: 'completed',
      durationMs: 1_900,
      usage: { inputTokens: 10, outputTokens: 500, cacheReadTokens: 20_000, cacheWriteTokens: 900 },
      costUsd: 0.02,
    }
  }
  if (place === 1 || place === 18) {
    return { kind: 'assistant.text', turn, text: words(index, 300), ref: uuid() }
  }
  const callId = `call-${turn}-${Math.floor(place / 2)}`
  if (place % 2 === 0) {
    const command = `grep -rn ${words(index, 20)} src`
    return {
      ...{ kind: 'tool.call', turn, callId, name: 'Bash', toolKind: 'execute', ref: uuid() },
      ...{ title: command, input: JSON.stringify({ command }) },
    }
  }
  return {
    ...{ kind: 'tool.result', turn, callId, status: 'ok', ref: uuid(), durationMs: 40 },
    output: words(index, 400),
  }
}

/** Characters of text that an event holds, in bytes. */
export function rawBytes({ body }: Sample): number {
  const texts = [
    'text' in body ? body.text : '',
    'output' in body ? body.output : '',
    'input' in body && body.kind === 'tool.call' ? body.input : '',
    'title' in body ? body.title : '',
  ]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
}
