/** Says a number of seconds in words, such as `1 min 35 s`. */
export function formatDuration(seconds) {
  const minutes = Math.floor(seconds / 60)
  const rest = seconds % 60
  const parts = []
  if (minutes > 0) parts.push(`${minutes} min`)
  if (rest > 0) parts.push(`${rest} s`)
  return parts.join(' ')
}
