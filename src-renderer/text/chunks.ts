/**
 * A piece of Markdown that can be parsed by itself. `code` and `table` are told apart because they may be
 * long and are then drawn in part.
 */
export type Chunk =
  | { kind: 'markdown'; text: string }
  | { kind: 'code'; text: string; language: string; closed: boolean }
  | { kind: 'table'; text: string; rows: number }

const fenceStart = /^ {0,3}(`{3,}|~{3,})(.*)$/
const listItem = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/
const tableDelimiter = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/
const definition = /^ {0,3}\[[^\]]+\]:/m
/** A paragraph longer than this is cut, at a blank where there is one: no reader misses its unity. */
const PARAGRAPH_LIMIT = 8_000

type Kept = { lines: string[]; inList: boolean }

function cutLong(text: string, into: Chunk[]): void {
  let rest = text
  while (rest.length > PARAGRAPH_LIMIT) {
    const blank = rest.lastIndexOf(' ', PARAGRAPH_LIMIT)
    const at = blank > PARAGRAPH_LIMIT / 2 ? blank : PARAGRAPH_LIMIT
    into.push({ kind: 'markdown', text: rest.slice(0, at) })
    rest = rest.slice(at)
  }
  into.push({ kind: 'markdown', text: rest })
}

/**
 * Cuts Markdown at the boundaries of its top-level blocks, so that a growing text is parsed only at its end.
 * Text with link definitions is kept whole where it is small, since they hold for all of it.
 */
export function chunksOf(text: string): Chunk[] {
  if (text.length < PARAGRAPH_LIMIT && definition.test(text)) return [{ kind: 'markdown', text }]
  const chunks: Chunk[] = []
  const lines = text.split('\n')
  let kept: Kept = { lines: [], inList: false }
  const flush = () => {
    const body = kept.lines.join('\n')
    if (body.trim() !== '') cutLong(body, chunks)
    kept = { lines: [], inList: false }
  }
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const fence = fenceStart.exec(line)
    if (fence !== null && !kept.inList && !(fence[1]?.startsWith('`') && fence[2]?.includes('`'))) {
      flush()
      at = takeFence(lines, at, fence[1] ?? '', (fence[2] ?? '').trim(), chunks)
      continue
    }
    const next = lines[at + 1]
    if (
      !kept.inList &&
      line.includes('|') &&
      next?.includes('-') &&
      next.includes('|') &&
      tableDelimiter.test(next)
    ) {
      flush()
      at = takeTable(lines, at, chunks)
      continue
    }
    if (line.trim() === '') {
      if (kept.inList && listGoesOn(lines, at + 1)) kept.lines.push(line)
      else flush()
    } else {
      if (listItem.test(line)) kept.inList = true
      kept.lines.push(line)
    }
    at += 1
  }
  flush()
  return chunks
}

function listGoesOn(lines: string[], from: number): boolean {
  for (let at = from; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (line.trim() !== '') return listItem.test(line) || /^\s/.test(line)
  }
  return false
}

function takeFence(
  lines: string[],
  start: number,
  fence: string,
  info: string,
  into: Chunk[],
): number {
  const end = new RegExp(`^ {0,3}\\${fence[0]}{${fence.length},}\\s*$`)
  const language = /^[\w+#.-]{1,40}/.exec(info)?.[0]?.toLowerCase() ?? ''
  let at = start + 1
  while (at < lines.length && !end.test(lines[at] ?? '')) at += 1
  const closed = at < lines.length
  into.push({ kind: 'code', text: lines.slice(start + 1, at).join('\n'), language, closed })
  return closed ? at + 1 : at
}

function takeTable(lines: string[], start: number, into: Chunk[]): number {
  let at = start + 2
  while (
    at < lines.length &&
    (lines[at] ?? '').trim() !== '' &&
    !fenceStart.test(lines[at] ?? '')
  ) {
    at += 1
  }
  into.push({ kind: 'table', text: lines.slice(start, at).join('\n'), rows: at - start - 2 })
  return at
}

/** The beginning of a table with at most `rows` of its rows. */
export function tableHead(text: string, rows: number): string {
  let at = -1
  for (let line = 0; line < rows + 2; line += 1) {
    const next = text.indexOf('\n', at + 1)
    if (next === -1) return text
    at = next
  }
  return text.slice(0, at)
}

/**
 * The same cutting for a text that grows: chunks before the last one are taken from the time before,
 * as the same objects.
 */
export function growChunks(before: { text: string; chunks: Chunk[] }, text: string): Chunk[] {
  if (!text.startsWith(before.text) || before.chunks.length < 2) return chunksOf(text)
  const chunks = chunksOf(text)
  return chunks.map((chunk, at) => {
    const known = before.chunks[at]
    return known !== undefined && known.kind === chunk.kind && known.text === chunk.text
      ? known
      : chunk
  })
}
