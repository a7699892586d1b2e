import { z } from 'zod'
import { shortened } from './shortened.ts'
import type { EventBody } from './timeline.ts'

/** What the timeline tells of one entry of a runtime's own record, in short. `ref`: the runtime's name of it. */
export const ToldEntry = z.object({ ref: z.string(), text: z.string() })
export type ToldEntry = z.infer<typeof ToldEntry>

/** In UTF-16 code units. */
const LONGEST = 600

/** So many of the newest are enough: a runtime that is killed loses a tenth of a second. */
export const TOLD_NEWEST = 50

/** Of what a runtime said, called and was answered, the newest, in their order; without what its subagents did. */
export function toldEntries(events: readonly EventBody[]): ToldEntry[] {
  return events
    .flatMap((event) => {
      const text = textOf(event)
      return event.ref === undefined || text === null ? [] : [{ ref: event.ref, text }]
    })
    .slice(-TOLD_NEWEST)
}

function textOf(event: EventBody): string | null {
  if ('parent' in event && event.parent !== undefined) return null
  switch (event.kind) {
    case 'assistant.text':
      return `said: ${short(event.text)}`
    case 'tool.call':
      return `used ${event.name}: ${short(event.title)}`
    case 'tool.result':
      return `was answered (${event.status}): ${short(event.output)}`
    default:
      return null
  }
}

const short = (text: string): string => shortened(text.trim(), LONGEST)
