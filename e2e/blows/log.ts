import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What happened, line by line, with seconds since the round began; kept in a file as it comes. */
export type BlowLog = {
  round(number: number): void
  say(text: string): void
  /** The lines of the round so far. */
  lines(): readonly string[]
}

export function openLog(file: string): BlowLog {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  let begun = performance.now()
  let lines: string[] = []
  const write = (line: string) => {
    lines.push(line)
    appendFileSync(file, `${line}\n`)
  }
  return {
    round: (number) => {
      begun = performance.now()
      lines = []
      write(`── round ${number}`)
    },
    say: (text) => write(`${((performance.now() - begun) / 1_000).toFixed(3)}  ${text}`),
    lines: () => lines,
  }
}
