const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i
const SHORTEST_SECRET = 8

/** Replaces the values of secret variables by their names, in whole texts and in streams of pieces. */
export class SecretMask {
  /** Longest first, so that a value that holds another one is replaced as a whole. */
  readonly #secrets: readonly { value: string; shown: string }[]

  /** Takes the variables whose names look secret and whose values are at least eight characters long. */
  constructor(env: Readonly<Record<string, string>>) {
    const secrets = new Map<string, string>()
    for (const [name, value] of Object.entries(env)) {
      if (!SECRET_NAME.test(name) || value.length < SHORTEST_SECRET) continue
      secrets.set(value, `[${name}]`)
      secrets.set(JSON.stringify(value).slice(1, -1), `[${name}]`)
    }
    this.#secrets = [...secrets]
      .map(([value, shown]) => ({ value, shown }))
      .sort((a, b) => b.value.length - a.value.length)
  }

  mask(text: string): string {
    let masked = text
    for (const { value, shown } of this.#secrets) {
      if (masked.includes(value)) masked = masked.replaceAll(value, shown)
    }
    return masked
  }

  /** A masker for a text that arrives in pieces; a value that is cut between two of them is found too. */
  stream(): StreamMask {
    return new StreamMask(this)
  }

  /** How many characters at the end of the text could be the beginning of a secret. */
  undecided(text: string): number {
    let longest = 0
    for (const { value } of this.#secrets) {
      for (let n = Math.min(value.length - 1, text.length); n > longest; n -= 1) {
        if (text.endsWith(value.slice(0, n))) longest = n
      }
    }
    return longest
  }
}

export class StreamMask {
  readonly #mask: SecretMask
  #held = ''

  constructor(mask: SecretMask) {
    this.#mask = mask
  }

  /** What may be shown now; the rest comes with a later piece. */
  push(piece: string): string {
    const text = this.#mask.mask(this.#held + piece)
    const held = this.#mask.undecided(text)
    this.#held = held === 0 ? '' : text.slice(-held)
    return held === 0 ? text : text.slice(0, -held)
  }
}
