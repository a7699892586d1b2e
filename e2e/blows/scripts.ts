import type { Step } from '../model/script.ts'
import { bash, say, script, write } from '../support/steps.ts'
import type { Random } from './random.ts'

/** What the model does in a turn; every text and every file begins with a word of its own. */
export function randomScript(random: Random, word: (kind: string) => string): string {
  const steps: Step[] = []
  const count = random.whole(0, 2)
  for (let index = 0; index < count; index += 1) steps.push(randomStep(random, word))
  const last = random.weighted({ say: 3, stream: 2 })
  steps.push(last === 'say' ? say(`${word('text')} It is done.`) : stream(random, word('text')))
  return script(...steps)
}

export function randomStep(random: Random, word: (kind: string) => string): Step {
  const kind = random.weighted({
    sleep: 4,
    echo: 2,
    write: 3,
    stream: 2,
    two: 2,
    think: 1,
    busy: 1,
    cut: 1,
  })
  const text = random.chance(0.6) ? `${word('text')} I go on.` : undefined
  switch (kind) {
    case 'sleep':
      return bash(`sleep ${random.between(0.2, 1.5).toFixed(2)}`, text)
    case 'echo':
      return bash(`echo ${fileName(word('out'))}`, text)
    case 'write':
      return writeFile(word('file'), text)
    case 'stream':
      return { ...stream(random, word('text')), ...bash('true') }
    case 'two':
      return {
        ...(text === undefined ? {} : { text }),
        tools: [
          { name: 'Bash', input: { command: `sleep ${random.between(0.1, 0.6).toFixed(2)}` } },
          { name: 'Bash', input: { command: 'echo second' } },
        ],
      }
    case 'think':
      return { ...bash('true', text), thinking: `${word('thought')} Let me see.` }
    case 'busy':
      return { ...bash('true', text), wait: random.whole(100, 500) }
    case 'cut':
      return { ...stream(random, word('text')), cut: 1, ...bash('true') }
  }
}

export function stream(random: Random, word: string): Step {
  const text = `${word} ${Array.from({ length: 40 }, (_, index) => `part${index}`).join(' ')}`
  return { text, chunks: 12, delay: random.whole(5, 60) }
}

/** Its content occurs nowhere else either. */
export function writeFile(word: string, text?: string): Step {
  return write(fileName(word), `Written by ${word}.\n`, text)
}

/** Without what a shell or a file system reads in its own way. */
export function fileName(word: string): string {
  return `${word.replaceAll(/[<>]/gu, '')}.txt`
}
