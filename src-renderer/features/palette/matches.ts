/**
 * How well a text fits what was typed; 0 when it does not. Every word typed must occur; words at the
 * beginning of the text or of one of its words count more.
 */
export function fitness(text: string, typed: string): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const lower = text.toLowerCase()
  let score = 1
  for (const word of words) {
    const at = lower.indexOf(word)
    if (at === -1) return 0
    if (at === 0) score += 4
    else if (/[\s\-/:]/.test(lower[at - 1] ?? '')) score += 2
    else score += 1
  }
  return score
}

/** The best `limit` of the candidates, the best first; equal ones keep their order. */
export function best<T>(
  candidates: Iterable<T>,
  textOf: (candidate: T) => string,
  typed: string,
  limit: number,
): T[] {
  const found: { candidate: T; score: number }[] = []
  for (const candidate of candidates) {
    const score = fitness(textOf(candidate), typed)
    if (score > 0) found.push({ candidate, score })
  }
  return found
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}
