import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from '../e2e/electron-runtime.ts'
import type { Bench } from './bench.ts'
import type { Figure } from './figures.ts'
import type { Machine } from './machine.ts'

export type Run = {
  readonly command: string
  /** Day of the run. */
  readonly date: string
  readonly seconds: number
  readonly machine: Machine
  readonly figures: readonly Figure[]
  /** Benches that broke, and why. */
  readonly broken: Readonly<Record<string, string>>
}

const UNITS = { ms: ' ms', ratio: ' ×', 'per second': '/s', MB: ' MB', '%': ' %' } as const

export function shownValues({ values, unit }: Figure): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${rounded(value)}${UNITS[unit]}`)
    .join(' · ')
}

function rounded(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en')
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function shownGoal({ goal, met }: Figure): string {
  if (goal === null) return '–'
  return `${goal}: ${met ? 'met' : '**missed**'}`
}

/** The figures for a terminal. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.what,
    shownValues(figure),
    `n=${figure.samples}`,
    shownGoal(figure).replaceAll('**', ''),
  ])
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export async function writeJson(file: string, run: Run): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `${JSON.stringify(run, null, 2)}\n`)
}

/** Writes docs/performance.md from a run of all benches; gives its path. */
export async function writePage(run: Run, benches: readonly Bench[]): Promise<string> {
  const template = await readFile(join(ROOT, 'bench', 'performance.template.md'), 'utf8')
  const file = join(ROOT, 'docs', 'performance.md')
  await writeFile(file, fillPage(template, run, benches))
  return file
}

/** The template with a run in the place of its `{{names}}`. */
export function fillPage(template: string, run: Run, benches: readonly Bench[]): string {
  const { machine } = run
  const missed = run.figures.filter(({ met }) => met === false)
  const values: Record<string, string> = {
    date: run.date,
    command: run.command,
    duration: `${Math.round(run.seconds)} s`,
    machine: [
      `- processor: ${machine.cpu}, ${machine.cores} cores`,
      `- memory: ${machine.memoryGb} GB`,
      `- system: ${machine.system}; load before the run: ${machine.loadBefore}`,
      `- Electron ${machine.electron}; Node ${machine.node}; ${machine.runtime}`,
    ].join('\n'),
    missed:
      missed.length === 0
        ? 'Every goal that has a figure is met.'
        : missed
            .map((figure) => `- ${figure.what}: ${shownValues(figure)}; goal: ${figure.goal}`)
            .join('\n'),
    figures: benches.map((bench) => section(bench, run)).join('\n\n'),
  }
  return template.replaceAll(/\{\{(\w+)\}\}/gu, (_, name: string) => values[name] ?? '')
}

function section(bench: Bench, { figures, broken }: Run): string {
  const mine = figures.filter((figure) => figure.bench === bench.name)
  const rows = mine.map(
    (figure) =>
      `| ${figure.what} | ${shownValues(figure)} | ${figure.samples} | ${shownGoal(figure)} |`,
  )
  const body =
    mine.length > 0
      ? ['| what | measured | samples | goal |', '|---|---|---|---|', ...rows].join('\n')
      : `Not measured: ${broken[bench.name] ?? 'it did not run'}.`
  return `### ${bench.name}\n\n${bench.method}\n\n${body}`
}
