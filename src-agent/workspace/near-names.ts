/** The names of `known` that a person may have meant by `wanted`, the nearest first; at most five. */
export function nearNames(wanted: string, known: readonly string[]): string[] {
  const usual = ['main', 'master', 'develop', 'trunk']
  const scored = known.map((name) => ({ name, score: distance(wanted, name) }))
  scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
  const near = scored.filter(({ score }) => score <= Math.max(2, wanted.length / 3))
  const chosen = near.length > 0 ? near : scored.filter(({ name }) => usual.includes(name))
  return (chosen.length > 0 ? chosen : scored).slice(0, 5).map(({ name }) => name)
}

/** How many letters differ; less where one name holds the other. */
function distance(a: string, b: string): number {
  const [left, right] = [a.toLowerCase(), b.toLowerCase()]
  if (left !== '' && (right.includes(left) || left.includes(right))) return 1
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same))
    }
    row = next
  }
  return row[right.length] ?? 0
}
