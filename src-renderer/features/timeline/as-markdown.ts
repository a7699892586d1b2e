import { runtimeTitle } from '../../stores/runtime-reports.ts'
import type { QuestionRow, Row, ToolRow } from '../../sync/rows.ts'
import { authorWord, duration, money } from '../../ui/words.ts'

/** A fence that is longer than any in the text, so that the text cannot end it. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}

function tool(row: ToolRow): string {
  const head = `**${row.name}** \`${row.title.replace(/[`\n]/g, ' ')}\``
  const parts = [head]
  for (const file of row.result?.diff ?? []) parts.push(fenced(file.patch, 'diff'))
  if (row.result !== null && row.result.diff.length === 0 && row.result.output !== '') {
    parts.push(fenced(row.result.output))
  }
  parts.push(...row.children.map(one).filter((text) => text !== ''))
  return parts.join('\n\n')
}

function question({ asked, answers, withdrawn }: QuestionRow): string {
  const options = asked.options.map(
    ({ label, detail }, at) => `${at + 1}. ${label}${detail === undefined ? '' : `: ${detail}`}`,
  )
  const parts = [`**${asked.key} ${asked.text}**`, asked.context ?? '', options.join('\n')]
  parts.push(...answers.map(({ text, author }) => `Answer (${authorWord(author)}): ${text}`))
  if (withdrawn !== null) parts.push(`*withdrawn: ${withdrawn.reason}*`)
  return parts.filter((part) => part !== '').join('\n\n')
}

function one(row: Row): string {
  switch (row.kind) {
    case 'turn': {
      const end =
        row.end === null ? '' : ` · ${duration(row.end.durationMs)} · ${money(row.end.costUsd)}`
      return `## Turn ${row.turn ?? ''}${end}`
    }
    case 'input':
      return row.text
        .split('\n')
        .map((line) => `> ${line}`)
        .join('\n')
    case 'text':
      return row.text
    case 'tool':
      return tool(row)
    case 'todo':
      return row.latest
        ? row.items
            .map((item) => `- [${item.status === 'done' ? 'x' : ' '}] ${item.text}`)
            .join('\n')
        : ''
    case 'notice':
      return row.level === 'info' ? '' : `*${row.level}: ${row.text}*`
    case 'question':
      return question(row)
    case 'assumption':
      return `*Assumes: ${row.recorded.assumption}*`
    case 'completed':
      return `**${row.outcome.replace('_', ' ')}** ${row.summary}`
    case 'runtime':
      return `*${runtimeTitle(row.to)} goes on in a new conversation*`
    case 'ended':
      return `*${row.end.reason}${row.end.detail === undefined ? '' : `: ${row.end.detail}`}*`
    default:
      return ''
  }
}

/** What was said and done, as Markdown; thinking and states are left out. */
export function timelineMarkdown(rows: readonly Row[]): string {
  return `${rows
    .map(one)
    .filter((text) => text !== '')
    .join('\n\n')}\n`
}
