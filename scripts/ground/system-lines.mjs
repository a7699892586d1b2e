import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Such as `[42:1129/101500.123456:ERROR:bus.cc(407)] Failed to connect to the bus`. */
const OF_CHROMIUM = /^\[\d+:(\d+:)?\d{4}\/\d{6}\.\d+:[A-Z]+\d*:/
/** What ends it, which nobody should have to look for. */
const FATAL = /^\[[\d:/.]+:FATAL:/
/** Such as `(electron:42): Gtk-WARNING **: 10:15:00.123: Theme parsing error`. */
const OF_GLIB = /^\((process|[^():]+):\d+\): \S*-(WARNING|CRITICAL|Message) \*\*: /

/** So much of what was kept back is shown after a failure. */
const SHOWN_LINES = 30

/**
 * Whether a line is what Chromium or GTK say about the system that they find: no bus, no graphics card, no theme. It
 * differs from machine to machine, and Ballet does without all of it.
 *
 * @param {string} line
 */
export const isOfSystem = (line) =>
  (OF_CHROMIUM.test(line) && !FATAL.test(line)) || OF_GLIB.test(line)

/**
 * Takes the lines that an application prints: passes its own on, and keeps those about the system in a file, which
 * begins anew each time.
 *
 * @param {string} file
 * @param {(line: string) => void} show
 */
export function sortLines(file, show) {
  /** @type {string[]} */
  let kept = []
  let hasShown = false
  let where = `all of it is in ${file}`
  const write = (/** @type {(() => void)} */ work) => {
    try {
      work()
    } catch (error) {
      where = `${file} cannot be written (${error instanceof Error ? error.message : error})`
    }
  }
  write(() => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '')
  })
  return {
    /** @param {string} line */
    take: (line) => {
      if (isOfSystem(line)) {
        kept = [...kept, line].slice(-SHOWN_LINES)
        write(() => appendFileSync(file, `${line}\n`))
      } else {
        hasShown = true
        show(line)
      }
    },
    /** Shows the last of what was kept back, after a failure of which the application itself said nothing. */
    tellReason: () => {
      if (hasShown || kept.length === 0) return
      show(`It ended without a word. What Chromium and the system said (${where}):`)
      for (const line of kept) show(`  ${line}`)
    },
  }
}
