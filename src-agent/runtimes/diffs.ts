import { structuredPatch } from 'diff'
import type { FileDiff } from '../../src-shared/timeline.ts'
import { asRecord } from './as-record.ts'
import { shownPath } from './shown-path.ts'

/** Bytes of a patch that an event holds at most; its counts are always whole. */
const PATCH_LIMIT = 64 * 1_024
/** Longer texts are not compared: that takes too long. */
const COMPARED_LIMIT = 1024 * 1_024
const COMPARE_LIMIT_MS = 200

/** Null where nothing changed, and where the texts are too long to compare. */
export function diffOf(path: string, before: string, after: string, cwd: string): FileDiff | null {
  if (before.length + after.length > COMPARED_LIMIT) return null
  const options = { context: 3, timeout: COMPARE_LIMIT_MS }
  const patch = structuredPatch('', '', before, after, '', '', options)
  const lines = (patch?.hunks ?? []).flatMap((hunk) => [
    `@@ -${sideOf(hunk.oldStart, hunk.oldLines)} +${sideOf(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines.filter((line) => !line.startsWith('\\')),
  ])
  return fileDiff(shownPath(path, cwd), lines)
}

/** A side without lines stands after the line before it, as diff writes it. */
function sideOf(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`
}

/** The unified diff of one file that a raw output holds, as some agents add it; null without one. */
export function diffOfRawOutput(rawOutput: unknown, path: string | null, cwd: string) {
  const fields = asRecord(rawOutput)
  const text = fields.diff ?? asRecord(fields.metadata).diff
  if (typeof text !== 'string' || path === null) return null
  const lines = text.split('\n')
  const first = lines.findIndex((line) => line.startsWith('@@ '))
  if (first === -1) return null
  return fileDiff(
    shownPath(path, cwd),
    lines.slice(first).filter((line) => /^[ +\-@]/.test(line)),
  )
}

/** A file that a call made, where it says so without a diff; null for every other call. */
export function diffOfNewFile(
  input: unknown,
  rawOutput: unknown,
  path: string | null,
  cwd: string,
): FileDiff | null {
  const { content } = asRecord(input)
  const isNew = asRecord(asRecord(rawOutput).metadata).exists === false
  return isNew && typeof content === 'string' && path !== null
    ? diffOf(path, '', content, cwd)
    : null
}

function fileDiff(path: string, lines: readonly string[]): FileDiff | null {
  if (lines.length === 0) return null
  let size = 0
  const fitting = lines.filter((line) => {
    size += line.length + 1
    return size <= PATCH_LIMIT
  })
  return {
    path,
    patch: fitting.join('\n'),
    added: lines.filter((line) => line.startsWith('+')).length,
    removed: lines.filter((line) => line.startsWith('-')).length,
  }
}
