const MASK = '***'

/** Names of fields and of environment variables whose values are nobody's business. */
const SECRET_NAME =
  /(token|secret|passw|passphrase|api_?key|credential|authorization|cookie|private_?key|nonce)/i

/** Texts that are secrets whatever they are called. */
const SECRET_TEXTS: readonly [RegExp, string][] = [
  [/\bsk-[A-Za-z0-9_-]{12,}/g, MASK],
  [/\b(gh[pousr]_|github_pat_|glpat-|xox[a-z]-)[A-Za-z0-9_-]{10,}/g, MASK],
  [/\bAKIA[A-Z0-9]{16}\b/g, MASK],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${MASK}`],
  // A password in an address, of a git remote for one. A pattern that began at the scheme would try each letter of a
  // long word as its beginning.
  [/(:\/\/[^\s/:@]*):[^\s/@]+@/g, `$1:${MASK}@`],
  [/(BALLET_SESSION=[0-9a-f-]+:)[0-9a-f]+/g, `$1${MASK}`],
]

const DEPTH_LIMIT = 6
const TEXT_LIMIT = 20_000

export function maskText(text: string): string {
  let masked = text.length > TEXT_LIMIT ? `${text.slice(0, TEXT_LIMIT)}…` : text
  for (const [pattern, mask] of SECRET_TEXTS) masked = masked.replace(pattern, mask)
  return masked
}

/** A value for the log: as JSON can hold it, errors with their causes, and without secrets. */
export function maskValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return maskText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH_LIMIT) return '…'
  if (Array.isArray(value)) return value.map((item) => maskValue(item, depth + 1))
  if (value instanceof Error) {
    const { name, message, stack, cause, ...rest } = value
    return maskValue(
      { name, message, stack, ...(cause === undefined ? {} : { cause }), ...rest },
      depth + 1,
    )
  }
  const masked: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    if (name === 'env' && typeof item === 'object' && item !== null) {
      masked[name] = Object.fromEntries(Object.keys(item).map((variable) => [variable, MASK]))
    } else if (SECRET_NAME.test(name) && typeof item === 'string') masked[name] = MASK
    else masked[name] = maskValue(item, depth + 1)
  }
  return masked
}
