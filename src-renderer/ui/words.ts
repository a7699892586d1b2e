import type { Author } from '../../src-shared/records.ts'

/** How numbers, times and amounts are written everywhere in the window. */

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const count = new Intl.NumberFormat('en-US')
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const full = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'short',
  hourCycle: 'h23',
})

/** `$0.62`; amounts under a cent keep what is needed to tell them from nothing. */
export function money(usd: number): string {
  if (usd > 0 && usd < 0.01) return usd < 0.0001 ? '<$0.0001' : `$${usd.toFixed(4)}`
  return dollars.format(usd)
}

/** `8 s`, `1 m 12 s`, `2 h 5 m`, `3 d 4 h`; `0.4 s` and `40 ms` where it is that short. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 9_950) return `${(Math.round(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return wholeSeconds(seconds)
}

/** For what still counts: whole seconds only, so that the width is calm. */
export function elapsed(ms: number): string {
  return wholeSeconds(Math.max(0, Math.floor(ms / 1_000)))
}

/** What is left until something, `6:12` or `1:02:10`; `0:00` when it is over. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  const two = (value: number) => String(value).padStart(2, '0')
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`
}

function wholeSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (minutes === 0) return `${seconds} s`
  if (hours === 0) return seconds % 60 === 0 ? `${minutes} m` : `${minutes} m ${seconds % 60} s`
  if (days === 0) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} m`
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`
}

/** The largest unit only: `now`, `12 m`, `4 h`, `3 d`. */
export function age(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h`
  return `${Math.floor(hours / 24)} d`
}

/** `10:41`; with the day when it was not today. */
export function timeOfDay(at: string, now: number = Date.now()): string {
  const date = new Date(at)
  const today = new Date(now)
  const time = clock.format(date)
  return date.toDateString() === today.toDateString() ? time : `${day.format(date)} ${time}`
}

export const fullTime = (at: string) => full.format(new Date(at))

/** `38 k`, `1.2 M`. */
export function tokens(value: number): string {
  if (value < 1_000) return `${value}`
  if (value < 9_950) return `${(value / 1_000).toFixed(1)} k`
  if (value < 999_500) return `${Math.round(value / 1_000)} k`
  return `${(value / 1_000_000).toFixed(1)} M`
}

/** `812 B`, `16 KB`, `2.4 MB`; of 1,024. */
export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let size = value / 1_024
  let at = 0
  while (size >= 1_000 && at < units.length - 1) {
    size /= 1_024
    at += 1
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[at]}`
}

export const whole = (value: number) => count.format(value)

/** `1 line`, `3 lines`. */
export const counted = (value: number, one: string, many = `${one}s`) =>
  `${whole(value)} ${value === 1 ? one : many}`

/** `14` of `agent-14`. */
export const agentNumber = (id: string) => id.replace(/^agent-/, '')

export const priorityWord = (priority: number) =>
  ['', 'urgent', 'high', 'normal', 'low', 'some day'][priority] ?? String(priority)

/** Who gave an answer, in a sentence. */
export const authorWord = (author: Author): string =>
  author === 'person' ? 'you' : author === 'planner' ? 'the planner' : 'Ballet'
