import type { Line } from './list.ts'

export type TreeMove =
  | { act: 'go'; to: number }
  | { act: 'fold'; key: string }
  | { act: 'open'; beside: boolean }
  | null

/** Lines of one page up or down. */
const PAGE = 15

function headOf(lines: readonly Line[], at: number): number {
  for (let up = at - 1; up >= 0; up -= 1) {
    if (lines[up]?.line !== 'ticket') return up
  }
  return at
}

/** What a key does on the line `at` of the sidebar, as trees of tickets are moved in everywhere. */
export function treeMove(key: string, lines: readonly Line[], at: number, mod: boolean): TreeMove {
  const line = lines[at]
  if (line === undefined) return null
  const go = (to: number): TreeMove => ({
    act: 'go',
    to: Math.max(0, Math.min(lines.length - 1, to)),
  })
  const isOpen = line.line !== 'ticket' && !line.folded
  switch (key) {
    case 'ArrowDown':
      return go(at + 1)
    case 'ArrowUp':
      return go(at - 1)
    case 'Home':
      return go(0)
    case 'End':
      return go(lines.length - 1)
    case 'PageDown':
      return go(at + PAGE)
    case 'PageUp':
      return go(at - PAGE)
    case 'ArrowRight':
      if (line.line === 'ticket') return { act: 'open', beside: false }
      return isOpen ? go(at + 1) : { act: 'fold', key: line.key }
    case 'ArrowLeft':
      return isOpen ? { act: 'fold', key: line.key } : go(headOf(lines, at))
    case 'Enter':
      return { act: 'open', beside: mod }
    case ' ':
      return { act: 'open', beside: false }
    default:
      return null
  }
}
