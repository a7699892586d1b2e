/**
 * @typedef {object} Step
 * @property {(text: string) => void} detail what the step does right now; shown in place on a terminal
 * @property {(done: number, total: number, unit?: string) => void} progress a share of a long piece of work
 */

/**
 * @typedef {object} Report
 * @property {<T>(title: string, work: (step: Step) => Promise<T | { skipped: string }>) => Promise<T | { skipped: string }>} step
 * runs one step and prints one line for it with its time. A step that found nothing to do returns
 * `{ skipped: why }`; it prints a line only where `verbose` is set.
 * @property {(text: string) => void} line prints one plain line
 */

const BAR_WIDTH = 24
// How often a step that takes long shows its time: in place, and by a line each where it cannot be.
const TERMINAL_INTERVAL_MS = 250
const PLAIN_INTERVAL_MS = 10_000

/** @param {number} ms */
export function formatElapsed(ms) {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/**
 * @param {number} done
 * @param {number} total
 * @param {string} unit
 */
export function formatShare(done, total, unit) {
  const share = total > 0 ? Math.min(1, done / total) : 0
  const filled = Math.round(share * BAR_WIDTH)
  const bar = `${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}`
  const amount =
    unit === 'bytes'
      ? `${Math.round(done / 1_000_000)} of ${Math.round(total / 1_000_000)} MB`
      : `${done} of ${total} ${unit}`
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} % ${amount}`
}

/**
 * A report of steps on a stream: in place where it is a terminal, plain lines otherwise.
 *
 * @param {{ stream?: NodeJS.WriteStream, now?: () => number, verbose?: boolean }} [options]
 * `verbose` also prints the steps that had nothing to do
 * @returns {Report}
 */
export function createReport({ stream = process.stdout, now = Date.now, verbose = false } = {}) {
  const tty = stream.isTTY === true

  /** @param {string} text */
  const inPlace = (text) => {
    const width = Math.max(20, stream.columns ?? 80) - 1
    stream.write(`\r\u001b[2K${text.slice(0, width)}`)
  }
  const clear = () => {
    if (tty) stream.write('\r\u001b[2K')
  }

  return {
    line: (text) => {
      clear()
      stream.write(`${text}\n`)
    },
    step: async (title, work) => {
      const start = now()
      let shown = ''
      const draw = () => {
        const text = `  … ${title}${shown && `: ${shown}`} (${formatElapsed(now() - start)})`
        if (tty) inPlace(text)
        else stream.write(`${text}\n`)
      }
      /** @param {string} text */
      const show = (text) => {
        shown = text
        if (tty) draw()
      }
      const ticker = setInterval(draw, tty ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS)
      ticker.unref()
      try {
        const result = await work({
          detail: show,
          progress: (done, total, unit = 'bytes') => show(formatShare(done, total, unit)),
        })
        clear()
        if (isSkipped(result)) {
          if (verbose) stream.write(`  - ${title}: ${result.skipped}\n`)
        } else {
          const text = typeof result === 'string' && result !== '' ? `: ${result}` : ''
          stream.write(`  ✓ ${title}${text} (${formatElapsed(now() - start)})\n`)
        }
        return result
      } catch (error) {
        clear()
        stream.write(`  ✗ ${title} (${formatElapsed(now() - start)})\n`)
        throw error
      } finally {
        clearInterval(ticker)
      }
    },
  }
}

/**
 * @param {unknown} result
 * @returns {result is { skipped: string }}
 */
export function isSkipped(result) {
  return typeof result === 'object' && result !== null && 'skipped' in result
}
