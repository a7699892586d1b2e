const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(^|_)(PASS|PAT)$/i
/** The account and the password of an address, whatever the variable is called. */
const ACCOUNT = /:\/\/([^\s/:@]*):([^\s/@]+)@/g
const SHORTEST_SECRET = 8

/** Replaces the values of secret variables by their names, in whole texts and in streams of pieces. */
export class SecretMask {
  /** Longest first, so that a value that holds another one is replaced as a whole. */
  readonly #secrets: readonly { value: string; shown: string }[]

  /**
   * Takes the variables whose names look secret and whose values are at least eight characters long, and the passwords
   * of addresses in all of them.
   */
  constructor(env: Readonly<Record<string, string>>) {
    const secrets = new Map<string, string>()
    for (const [name, value] of Object.entries(env)) {
      for (const [, account = '', password = ''] of value.matchAll(ACCOUNT)) {
        // Short ones are ordinary words elsewhere.
        if (password.length >= SHORTEST_SECRET) secrets.set(password, `[${name}]`)
        else secrets.set(`://${account}:${password}@`, `://${account}:[${name}]@`)
      }
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

  /** Where the end of the text begins that may be masked otherwise when more of it is known. */
  undecidedFrom(text: string): number {
    let from = text.length
    for (const { value } of this.#secrets) {
      for (let n = Math.min(value.length - 1, text.length); n > text.length - from; n -= 1) {
        if (text.endsWith(value.slice(0, n))) from = text.length - n
      }
    }
    // A secret that is whole already must not be cut in two.
    for (let moved = true; moved; ) {
      moved = false
      for (const { value } of this.#secrets) {
        const at = text.indexOf(value, Math.max(0, from - value.length + 1))
        if (at === -1 || at >= from) continue
        from = at
        moved = true
      }
    }
    return from
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
    const text = this.#held + piece
    const from = this.#mask.undecidedFrom(text)
    this.#held = text.slice(from)
    return this.#mask.mask(text.slice(0, from))
  }
}
