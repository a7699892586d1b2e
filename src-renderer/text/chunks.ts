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

/**
 * A text as it was cut. `from` and `settled`: where in it the last block but one begins, and how many chunks are
 * before that; what is appended can change nothing there.
 */
export type Cut = { text: string; chunks: readonly Chunk[]; from: number; settled: number }

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
export const chunksOf = (text: string): readonly Chunk[] => cutText(text).chunks

export function cutText(text: string): Cut {
  if (text.length < PARAGRAPH_LIMIT && definition.test(text)) {
    return { text, chunks: [{ kind: 'markdown', text }], from: 0, settled: 0 }
  }
  return cutFrom(text, 0, [])
}

/** Cuts what is behind `from`, where a block begins, and puts its chunks behind those that are given. */
function cutFrom(text: string, from: number, before: readonly Chunk[]): Cut {
  const chunks = [...before]
  const lines = text.slice(from).split('\n')
  let kept: Kept = { lines: [], inList: false }
  /** The last block and the one before it: the line that each begins with, and how many chunks are before it. */
  let last = { line: 0, chunks: chunks.length }
  let lastButOne = last
  const begin = (line: number) => {
    lastButOne = last
    last = { line, chunks: chunks.length }
  }
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
      begin(at)
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
      begin(at)
      at = takeTable(lines, at, chunks)
      continue
    }
    if (line.trim() === '') {
      if (kept.inList && listGoesOn(lines, at + 1)) kept.lines.push(line)
      else flush()
    } else {
      if (kept.lines.length === 0) begin(at)
      if (listItem.test(line)) kept.inList = true
      kept.lines.push(line)
    }
    at += 1
  }
  flush()
  let offset = from
  for (let line = 0; line < lastButOne.line; line += 1) offset += (lines[line]?.length ?? 0) + 1
  return { text, chunks, from: offset, settled: lastButOne.chunks }
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
 * The same cutting for a text that grows: only its end is cut again. Chunks that are as before are the same objects,
 * so that they are not drawn again.
 */
export function growCut(before: Cut, text: string): Cut {
  if (text.length < PARAGRAPH_LIMIT || before.settled === 0 || !text.startsWith(before.text)) {
    return keepKnown(before, cutText(text))
  }
  return keepKnown(before, cutFrom(text, before.from, before.chunks.slice(0, before.settled)))
}

function keepKnown(before: Cut, cut: Cut): Cut {
  const chunks = [...cut.chunks]
  for (let at = chunks.length - 1; at >= 0; at -= 1) {
    const known = before.chunks[at]
    const chunk = chunks[at]
    // What is before the first one that was taken over is taken over too.
    if (known === chunk && known !== undefined) break
    if (known !== undefined && chunk !== undefined && isSame(known, chunk)) chunks[at] = known
  }
  return { ...cut, chunks }
}

const isSame = (a: Chunk, b: Chunk): boolean =>
  a.kind === b.kind &&
  a.text === b.text &&
  (a.kind !== 'code' || b.kind !== 'code' || (a.closed === b.closed && a.language === b.language))
