import { plainText, withoutLastBreaks } from './plain-text.ts'

export type Tone = 'plain' | 'quiet' | 'strong' | 'good' | 'bad' | 'accent'

/** A line of the timeline: its text and how it is to look. */
export type TextLine = { text: string; tone: Tone }

export function line(text: string, tone: Tone = 'plain'): TextLine {
  return { text, tone }
}

/** A text of several lines, safe to print, with what stands before its first and after its last. */
export function block(text: string, tone: Tone, end = '', begin = ''): TextLine[] {
  return `${begin}${withoutLastBreaks(plainText(text))}${end}`
    .split('\n')
    .map((part) => line(part, tone))
}
