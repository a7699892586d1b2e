import type { ProseRow, Row, ToolRow } from '../../sync/rows.ts'
import { type Chunk, type Cut, cutText, growCut } from '../../text/chunks.ts'

/** One entry of the virtual list. A long text is several of them, so that only its part in sight is drawn. */
export type Item = {
  key: string
  row: Row
  /** 0, or how many subagents it is inside of. */
  depth: number
  open: boolean
  /** `result`: what a call gave, drawn behind the work of its subagent. */
  part: 'whole' | 'result'
  /** Of a text: the pieces that this item draws; the last item of a live text holds what still grows. */
  chunks: readonly Chunk[] | null
  last: boolean
}

/** Characters of one item of a text; one screen is about this much. */
const ITEM_CHARACTERS = 3_000

/** Whether a call, or one of its subagent, waits for a permission. */
export function isAsking(row: Row): boolean {
  if (row.kind === 'request') return row.permission.answer === null
  if (row.kind !== 'tool') return false
  if (row.permission !== null && row.permission.answer === null && row.result === null) return true
  return row.result === null && row.children.some(isAsking)
}

/**
 * The call of no turn, such as the setup command, that still runs: the last of its kind, with nothing behind it that
 * says that the session lost its agent. `preparing`: the session is being started or brought back.
 */
export function runningOutsideTurns(rows: readonly Row[], preparing: boolean): string | null {
  if (!preparing) return null
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row === undefined || row.kind === 'state' || row.kind === 'turn') return null
    if (row.kind === 'tool' && row.turn === undefined) return row.result === null ? row.key : null
  }
  return null
}

/** Whether a row is drawn open when nobody chose: what was changed and what went wrong is, what was read is not. */
export function isOpenByItself(row: Row): boolean {
  switch (row.kind) {
    case 'tool':
      if (isAsking(row)) return true
      if (row.children.length > 0 || row.toolKind === 'agent') return false
      if (row.result?.status === 'error') return true
      return row.toolKind === 'edit' || row.toolKind === 'execute'
    case 'todo':
      return row.latest
    case 'steps':
      return row.steps.some(({ status }) => status === 'failed')
    default:
      return false
  }
}

function grouped(chunks: readonly Chunk[]): Chunk[][] {
  const groups: Chunk[][] = []
  let group: Chunk[] = []
  let size = 0
  for (const chunk of chunks) {
    if (group.length > 0 && size + chunk.text.length > ITEM_CHARACTERS) {
      groups.push(group)
      group = []
      size = 0
    }
    group.push(chunk)
    size += chunk.text.length
  }
  if (group.length > 0) groups.push(group)
  return groups
}

const sameChunks = (a: readonly Chunk[], b: readonly Chunk[]) =>
  a.length === b.length && a.every((chunk, at) => chunk === b[at])

const isSameItem = (item: Item, depth: number, group: readonly Chunk[]): boolean =>
  !item.last && item.depth === depth && item.chunks !== null && sameChunks(item.chunks, group)

/** The items at the beginning of a text that draw nothing but settled chunks; the last item still grows. */
function settledItems(items: readonly Item[], depth: number, settled: number): Item[] {
  let drawn = 0
  const end = items.findIndex((item) => {
    drawn += item.chunks?.length ?? 0
    return item.last || item.depth !== depth || drawn >= settled
  })
  return items.slice(0, Math.max(0, end))
}

/** Makes the items of rows, and gives the same objects again for what did not change. */
export class ItemMaker {
  #made = new WeakMap<Row, Item[]>()
  #results = new WeakMap<Row, Item>()
  #texts = new Map<string, { cut: Cut; items: Item[] }>()

  items(rows: readonly Row[], chosen: ReadonlyMap<string, boolean>): Item[] {
    const items: Item[] = []
    this.#list(rows, 0, chosen, items)
    return items
  }

  #list(
    rows: readonly Row[],
    depth: number,
    chosen: ReadonlyMap<string, boolean>,
    into: Item[],
  ): void {
    for (const row of rows) {
      const open = chosen.get(row.key) ?? isOpenByItself(row)
      const known = this.#made.get(row)
      if (known !== undefined && known[0]?.open === open && known[0].depth === depth) {
        into.push(...known)
      } else {
        const made =
          row.kind === 'text'
            ? this.#text(row, depth)
            : [{ key: row.key, row, depth, open, part: 'whole' as const, chunks: null, last: true }]
        this.#made.set(row, made)
        into.push(...made)
      }
      if (!open || row.kind !== 'tool' || row.children.length === 0) continue
      this.#list(row.children, depth + 1, chosen, into)
      if (row.result !== null) into.push(this.#result(row, depth + 1))
    }
  }

  #result(row: ToolRow, depth: number): Item {
    const known = this.#results.get(row)
    if (known?.depth === depth) return known
    const key = `${row.key}#result`
    const made: Item = { key, row, depth, open: true, part: 'result', chunks: null, last: true }
    this.#results.set(row, made)
    return made
  }

  #text(row: ProseRow, depth: number): Item[] {
    const before = this.#texts.get(row.key)
    const cut = before === undefined ? cutText(row.text) : growCut(before.cut, row.text)
    const kept = before === undefined ? [] : settledItems(before.items, depth, cut.settled)
    const drawn = kept.reduce((sum, { chunks }) => sum + (chunks?.length ?? 0), 0)
    const groups = grouped(cut.chunks.slice(drawn))
    if (groups.length === 0) groups.push([])
    const items = [...kept]
    for (const [place, group] of groups.entries()) {
      const at = kept.length + place
      const key = at === 0 ? row.key : `${row.key}#${at}`
      const last = place === groups.length - 1
      const same = before?.items[at]
      items.push(
        !last && same !== undefined && isSameItem(same, depth, group)
          ? same
          : { key, row, depth, open: false, part: 'whole', chunks: group, last },
      )
    }
    if (row.live) this.#texts.set(row.key, { cut, items })
    else this.#texts.delete(row.key)
    return items
  }
}

/** The tool call that a subagent is at now, for the header of a folded card. */
export function latestChild(row: ToolRow): ToolRow | undefined {
  for (let at = row.children.length - 1; at >= 0; at -= 1) {
    const child = row.children[at]
    if (child?.kind === 'tool') return child
  }
  return undefined
}

export function countCalls(row: ToolRow): number {
  let calls = 0
  for (const child of row.children) if (child.kind === 'tool') calls += 1 + countCalls(child)
  return calls
}
