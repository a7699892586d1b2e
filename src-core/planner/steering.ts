/**
 * What a text says to whoever reads it as an instruction, and not about its subject. A net for what nobody would write
 * into a document for people; it proves nothing of a text in which it finds nothing.
 */
const patterns: readonly RegExp[] = [
  /\b(ignore|disregard|forget|override)\b[^.!?\n]{0,40}\b(question|questions|instruction|instructions|prompt)\b/i,
  /\b(answer|reply|respond)\b (only )?(with )?["'“”‘’«`]?(yes|no)\b/i,
  /\byou (are now|must now|must answer|must reply|must respond|will now)\b/i,
  /\b(system prompt|developer message)\b/i,
  /\b(if you are|as) an? (ai|llm|language model|coding agent|assistant)\b/i,
  /\b(ai|llm) (agents?|assistants?|models?) (must|should|have to) (ignore|answer|reply|respond)\b/i,
  /<\/?(system|instructions?|assistant)>/i,
]

/** The words with which a source tries to steer who reads it; undefined where it does not seem to. */
export function steeringWords(source: string): string | undefined {
  for (const pattern of patterns) {
    const found = pattern.exec(source)
    if (found !== null) return found[0].replace(/\s+/g, ' ').slice(0, 80)
  }
  return undefined
}
