import stringWidth from 'string-width'
import { fitted, oneLine } from './plain-text.ts'

export type Column<T> = { head: string; cell(row: T): string; right?: boolean }

const GAP = '  '
const NARROWEST_LAST = 12

/** Aligned columns. Where the terminal is too narrow, only the last column is cut. */
export function table<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  width: number | undefined,
): string[] {
  const lines = [
    columns.map((column) => column.head),
    ...rows.map((row) => columns.map((column) => oneLine(column.cell(row)))),
  ]
  const widths = columns.map((_, at) =>
    Math.max(...lines.map((cells) => stringWidth(cells[at] ?? ''))),
  )
  const before = widths.slice(0, -1).reduce((sum, cells) => sum + cells + GAP.length, 0)
  const forLast = width === undefined ? undefined : Math.max(width - before, NARROWEST_LAST)
  return lines.map((cells) =>
    cells
      .map((text, at) => {
        const isLast = at === columns.length - 1
        if (isLast && columns[at]?.right !== true) {
          return forLast === undefined ? text : fitted(text, forLast)
        }
        const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - stringWidth(text)))
        return columns[at]?.right === true ? padding + text : text + padding
      })
      .join(GAP)
      .trimEnd(),
  )
}

/** One thing, a field a line; fields without a value are left out. */
export function fields(pairs: readonly (readonly [string, string])[]): string[] {
  const shown = pairs.filter(([, value]) => value !== '')
  const width = Math.max(0, ...shown.map(([name]) => stringWidth(name)))
  return shown.map(([name, value]) => `${name.padEnd(width)}${GAP}${value}`)
}
