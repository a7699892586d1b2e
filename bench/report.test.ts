import { expect, it } from 'vitest'
import type { Bench } from './bench.ts'
import { atMost, figure } from './figures.ts'
import { fillPage, type Run, shownValues, table } from './report.ts'

const facts = { unit: 'ms', samples: 3 } as const
const good = figure(
  { ...facts, bench: 'quick', what: 'a quick thing', values: { p50: 4.25, max: 12_345 } },
  atMost('p50', 5, 'p50 under 5 ms'),
)
const bad = figure(
  { ...facts, bench: 'quick', what: 'a slow thing', values: { max: 70 } },
  atMost('max', 50, 'under 50 ms'),
)

const run: Run = {
  command: 'npm run bench',
  date: '2026-01-01',
  seconds: 61.4,
  machine: {
    ...{ cpu: 'Some processor', cores: 2, memoryGb: 8, system: 'linux 6 x64', node: 'v20.0.0' },
    ...{ electron: '33.2.1', runtime: 'Claude Code 2.1.0', loadBefore: 0.1 },
  },
  figures: [good, bad],
  broken: { other: 'no display' },
}

const benches = ['quick', 'other'].map(
  (name): Bench => ({ name, method: `How ${name} is measured.`, run: async () => [] }),
)

it('the page tells each figure with its goal, what is missed, and what was not measured', () => {
  const page = fillPage('{{machine}}\n{{missed}}\n{{figures}}', run, benches)
  expect(page).toContain('- processor: Some processor, 2 cores')
  expect(page).toContain('- a slow thing: max 70.0 ms; goal: under 50 ms')
  expect(page).toContain(
    '| a quick thing | p50 4.25 ms · max 12,345 ms | 3 | p50 under 5 ms: met |',
  )
  expect(page).toContain('| a slow thing | max 70.0 ms | 3 | under 50 ms: **missed** |')
  expect(page).toContain('How other is measured.\n\nNot measured: no display.')
})

it('says so when nothing is missed', () => {
  const all = fillPage('{{missed}}', { ...run, figures: [good] }, benches)
  expect(all).toBe('Every goal that has a figure is met.')
})

it('the table has a line for each figure', () => {
  const lines = table(run.figures).split('\n')
  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain(shownValues(good))
  expect(lines[1]).toMatch(/n=3 +under 50 ms: missed$/u)
})
