import { parseArgs } from 'node:util'
import { signalled } from '../e2e/support/signalled.ts'
import { withWorkbench } from '../e2e/support/workbench.ts'
import type { Bench } from './bench.ts'
import type { Figure } from './figures.ts'
import { interrupt } from './interrupt.ts'
import { largeOutput } from './large-output.ts'
import { longTimeline } from './long-timeline.ts'
import { describeMachine } from './machine.ts'
import { memory } from './memory.ts'
import { paint } from './paint.ts'
import { parking } from './parking.ts'
import { type Run, table, writeJson, writePage } from './report.ts'
import { runtimes } from './runtimes.ts'
import { start } from './start.ts'
import { storage } from './storage.ts'
import { turns } from './turns.ts'

const BENCHES: readonly Bench[] = [
  paint,
  turns,
  interrupt,
  parking,
  start,
  storage,
  longTimeline,
  largeOutput,
  memory,
  runtimes,
]

const HELP = `Usage: npm run bench [-- [--json FILE] [--only NAME …] [--brief]]

Measures Ballet against its goals, prints the figures, and writes docs/performance.md when all of it ran.

  --json FILE  write the figures as JSON too
  --only NAME  only this one: ${BENCHES.map(({ name }) => name).join(', ')}
  --brief      few measurements, to see that it works; writes no page
`

/** Gives the exit code. */
export async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      json: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      brief: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const unknown = values.only.find((name) => !BENCHES.some((bench) => bench.name === name))
  if (values.help || unknown !== undefined) {
    process.stdout.write(unknown === undefined ? HELP : `There is no bench ${unknown}.\n${HELP}`)
    return unknown === undefined ? 0 : 2
  }
  const chosen = BENCHES.filter(
    ({ name }) => values.only.length === 0 || values.only.includes(name),
  )
  const machine = describeMachine()
  const say = (text: string) => process.stderr.write(`${text}\n`)
  const ended = signalled()
  // It ends the bench that runs; without one nobody waits for it.
  ended.catch(() => undefined)
  const begun = performance.now()
  const figures: Figure[] = []
  const broken: Record<string, string> = {}
  for (const bench of chosen) {
    const at = performance.now()
    try {
      await withWorkbench(async (workbench) => {
        const measured = bench.run(workbench, { brief: values.brief, say })
        figures.push(...(await Promise.race([measured, ended])))
      })
    } catch (error) {
      broken[bench.name] = error instanceof Error ? error.message : String(error)
      say(`${bench.name} broke: ${error instanceof Error ? error.stack : String(error)}`)
    }
    say(`${bench.name}: ${((performance.now() - at) / 1_000).toFixed(1)} s`)
  }
  const run: Run = {
    command: 'npm run bench',
    date: new Date().toISOString().slice(0, 10),
    seconds: (performance.now() - begun) / 1_000,
    machine,
    figures,
    broken,
  }
  if (figures.length > 0) process.stdout.write(`${table(figures)}\n`)
  if (values.json !== undefined) await writeJson(values.json, run)
  if (chosen.length === BENCHES.length && !values.brief) {
    process.stdout.write(`Wrote ${await writePage(run, BENCHES)}\n`)
  }
  return Object.keys(broken).length === 0 ? 0 : 1
}
