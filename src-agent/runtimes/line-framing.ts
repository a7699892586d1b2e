/** The longest line that is taken whole: 32 MiB. */
export const LINE_CAP_BYTES = 32 * 1024 * 1024

const HEAD_BYTES = 1_024
const NEWLINE = 0x0a

export type FramedLine =
  | { kind: 'line'; text: string }
  /** A line over the cap: its first KiB and its whole length without the newline. The rest was never held. */
  | { kind: 'oversized'; head: string; bytes: number }

/** Cuts a stream of bytes into lines of UTF-8. Empty lines are left out. */
export class LineFramer {
  readonly #onLine: (line: FramedLine) => void
  readonly #capBytes: number
  #parts: Buffer[] = []
  /** Bytes of the line so far, also those that were dropped. */
  #bytes = 0
  #head: string | null = null

  constructor(onLine: (line: FramedLine) => void, options: { capBytes?: number } = {}) {
    this.#onLine = onLine
    this.#capBytes = options.capBytes ?? LINE_CAP_BYTES
  }

  push(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const at = chunk.indexOf(NEWLINE, from)
      if (at === -1) break
      this.#take(chunk.subarray(from, at))
      this.#finish()
      from = at + 1
    }
    if (from < chunk.length) this.#take(chunk.subarray(from))
  }

  /** The stream is over: what is left is a line without its newline. */
  end(): void {
    this.#finish()
  }

  #take(part: Buffer): void {
    if (part.length === 0) return
    this.#bytes += part.length
    if (this.#head !== null) return
    this.#parts.push(part)
    if (this.#bytes <= this.#capBytes) return
    this.#head = Buffer.concat(this.#parts, HEAD_BYTES).toString('utf8')
    this.#parts = []
  }

  #finish(): void {
    const parts = this.#parts
    const bytes = this.#bytes
    const head = this.#head
    this.#parts = []
    this.#bytes = 0
    this.#head = null
    if (head !== null) {
      this.#onLine({ kind: 'oversized', head, bytes })
      return
    }
    const [first] = parts
    if (first === undefined) return
    const whole = parts.length === 1 ? first : Buffer.concat(parts, bytes)
    const text = whole.toString('utf8').trimEnd()
    if (text !== '') this.#onLine({ kind: 'line', text })
  }
}
