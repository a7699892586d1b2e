import { styleText } from 'node:util'
import stringWidth from 'string-width'
import type { TimelineEvent } from '../src-shared/timeline.ts'
import type { LiveUpdate } from '../src-shared/timeline-calls.ts'
import { plainText, withoutControls, withoutLastBreaks } from './plain-text.ts'
import type { Tone } from './text-lines.ts'
import { describeEvent } from './timeline-text.ts'
import type { Terminal } from './world.ts'

export type TimelinePrinter = {
  events(events: readonly TimelineEvent[]): void
  live(updates: readonly LiveUpdate[]): void
  /** Ends an unfinished line. */
  end(): void
}

export function jsonTimeline(stdout: Terminal): TimelinePrinter {
  return {
    events: (events) => {
      for (const event of events) stdout.write(`${JSON.stringify(event)}\n`)
    },
    live: () => undefined,
    end: () => undefined,
  }
}

const OUTPUT_LINES_ON_A_TERMINAL = 20

/**
 * A timeline for people. On a terminal the text of the running block is shown while it grows; what another event
 * interrupts is shown whole when it is finished.
 */
export function textTimeline(stdout: Terminal): TimelinePrinter {
  const isTerminal = stdout.columns !== undefined
  const options = isTerminal ? { outputLines: OUTPUT_LINES_ON_A_TERMINAL } : {}
  let open: { block: string; shown: string } | undefined
  /** Of the running turn: what began it comes before what is said to it. */
  let undelivered = new Set<string>()

  const endLine = () => {
    if (open !== undefined) stdout.write('\n')
    open = undefined
  }

  /** What was shown of a block that is told whole later goes, as far as a terminal can do that. */
  const takeBack = () => {
    if (open === undefined) return
    const { columns, colour } = stdout
    const rows = rowsOf(`${MARGIN}${indented(plainText(open.shown))}`, columns ?? 1)
    if (!colour || rows > TAKEN_BACK_ROWS) {
      endLine()
      return
    }
    stdout.write(`${rows > 1 ? `\u001b[${rows - 1}A` : ''}\r\u001b[J`)
    open = undefined
  }

  const finishes = (event: TimelineEvent): boolean => {
    if (open === undefined || event.kind !== 'assistant.text' || event.block !== open.block) {
      return false
    }
    if (!event.text.startsWith(open.shown)) return false
    const rest = withoutLastBreaks(plainText(event.text.slice(open.shown.length)))
    stdout.write(`${indented(rest)}${event.partial === true ? ' … (cut off)' : ''}`)
    return true
  }

  return {
    events: (events) => {
      for (const event of events) {
        if (event.kind === 'turn.started') undelivered = new Set(event.inputs)
        if (event.kind === 'input.delivered') undelivered.delete(event.input)
        if (event.kind === 'turn.ended') undelivered.clear()
        if (finishes(event)) {
          endLine()
          continue
        }
        const lines = describeEvent(event, options)
        if (lines.length === 0) continue
        takeBack()
        const head = `${event.at.slice(11, 19)} `
        lines.forEach(({ text, tone }, at) => {
          stdout.write(`${at === 0 ? paint(head, 'quiet') : MARGIN}${paint(text, tone)}\n`)
        })
      }
    },
    live: (updates) => {
      if (!isTerminal || undelivered.size > 0) return
      for (const update of updates) {
        if (update.kind !== 'assistant.text' || update.parent !== undefined) continue
        if (open === undefined && update.offset === 0) {
          open = { block: update.block, shown: '' }
          stdout.write(MARGIN)
        }
        if (open?.block !== update.block || open.shown.length !== update.offset) continue
        stdout.write(indented(withoutControls(update.text)))
        open = { block: open.block, shown: open.shown + update.text }
      }
    },
    end: endLine,
  }

  function paint(text: string, tone: Tone): string {
    const style = styles[tone]
    return stdout.colour && style !== undefined && text !== '' ? styleText(style, text) : text
  }
}

/** What scrolled out of a small terminal cannot be taken back. */
const TAKEN_BACK_ROWS = 10

function rowsOf(text: string, columns: number): number {
  return text
    .split('\n')
    .reduce((rows, part) => rows + Math.max(1, Math.ceil(stringWidth(part) / columns)), 0)
}

const MARGIN = ' '.repeat(9)

function indented(text: string): string {
  return text.replaceAll('\n', `\n${MARGIN}`)
}

const styles: Record<Tone, Parameters<typeof styleText>[0] | undefined> = {
  plain: undefined,
  quiet: 'gray',
  strong: 'bold',
  good: 'green',
  bad: 'red',
  accent: 'cyan',
}
