import { runtimeTitle } from '../../stores/runtime-reports.ts'
import type { Item } from './items.ts'

/** Everything that an entry says, as far as it is loaded. */
function textOf(item: Item): string {
  const { row } = item
  switch (row.kind) {
    case 'text':
      return (item.chunks ?? []).map(({ text }) => text).join('\n')
    case 'tool':
      return `${row.name} ${row.title}\n${row.result?.output ?? ''}\n${(row.result?.diff ?? [])
        .map(({ path, patch }) => `${path}\n${patch}`)
        .join('\n')}`
    case 'todo':
      return row.items.map(({ text }) => text).join('\n')
    case 'turn':
      return `turn ${row.turn ?? ''}`
    case 'state':
      return `${row.to} ${row.reason}`
    case 'runtime':
      return `${runtimeTitle(row.to)} ${row.model ?? ''}`
    case 'ended':
      return `${row.end.detail ?? ''} ${row.end.hint ?? ''}`
    case 'steps':
      return row.steps.map(({ step, detail }) => `${row.saga} ${step} ${detail ?? ''}`).join('\n')
    case 'request':
      return `${row.permission.asked.title} ${row.permission.answer?.text ?? ''}`
    case 'question':
      return [
        row.asked.key,
        row.asked.text,
        row.asked.context ?? '',
        ...row.asked.options.map(({ label }) => label),
        ...row.answers.map(({ text }) => text),
      ].join('\n')
    case 'assumption':
      return `${row.recorded.assumption}\n${row.recorded.reason}\n${row.reviewed?.text ?? ''}`
    case 'progress':
    case 'completed':
      return row.summary
    case 'input':
    case 'thinking':
    case 'notice':
      return row.text
  }
}

/** Places of the entries in which `query` occurs, in either case; none for an empty query. */
export function findItems(items: readonly Item[], query: string): number[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return []
  const found: number[] = []
  for (const [at, item] of items.entries()) {
    // What is drawn behind a subagent's work is part of its call.
    if (item.part === 'whole' && textOf(item).toLowerCase().includes(wanted)) found.push(at)
  }
  return found
}

/** Where `query` occurs in what is drawn of an element. */
export function rangesIn(element: Element, query: string, limit: number): Range[] {
  const wanted = query.trim().toLowerCase()
  const ranges: Range[] = []
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase()
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      if (ranges.length === limit) return ranges
      const range = document.createRange()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      ranges.push(range)
    }
  }
  return ranges
}
