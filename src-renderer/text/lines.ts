/** Where each line of a text begins, without cutting it into as many strings. */
export function lineStarts(text: string): Uint32Array {
  let starts = new Uint32Array(1_024)
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (count === starts.length) {
      const larger = new Uint32Array(starts.length * 2)
      larger.set(starts)
      starts = larger
    }
    starts[count] = at + 1
    count += 1
  }
  // A line feed at the end ends a line; it begins none.
  if (count > 1 && starts[count - 1] === text.length) count -= 1
  return starts.subarray(0, count)
}

/** Which line an offset is in, from 0. */
export function lineAt(starts: Uint32Array, offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

export function lineCount(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1
  return text.endsWith('\n') ? count - 1 : count
}

/** The first `limit` lines, without the line feed that ends the last of them. */
export function linesUpTo(text: string, limit: number): string {
  let at = -1
  for (let line = 0; line < limit; line += 1) {
    at = text.indexOf('\n', at + 1)
    if (at === -1) return text
  }
  return text.slice(0, at)
}

/** The last `limit` lines. */
export function lastLines(text: string, limit: number): string {
  let at = text.endsWith('\n') ? text.length - 1 : text.length
  for (let line = 0; line < limit; line += 1) {
    at = text.lastIndexOf('\n', at - 1)
    if (at === -1) return text
  }
  return text.slice(at + 1)
}

/** One very long line would cost as much as a long text; this much of it is drawn. */
export const LINE_LIMIT = 2_000

export function cutLine(line: string): string {
  return line.length > LINE_LIMIT
    ? `${line.slice(0, LINE_LIMIT)} … ${(line.length - LINE_LIMIT).toLocaleString('en-US')} more characters`
    : line
}

/** The text with every line cut at the limit; the same object where none is so long. */
export function cutLines(text: string): string {
  if (text.length <= LINE_LIMIT) return text
  let long = false
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (line.length <= LINE_LIMIT) continue
    long = true
    lines[at] = cutLine(line)
  }
  return long ? lines.join('\n') : text
}
