import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../electron-runtime.ts'
import { signalled } from '../support/signalled.ts'
import { withWorkbench } from '../support/workbench.ts'
import type { HostKind } from './host-under-blows.ts'
import { runRounds } from './rounds.ts'

const HELP = `Usage: npm run blows -- [--rounds N] [--seed TEXT] [--desktop]

Runs sessions while agents, runtimes and the host are killed, and looks after each round whether all was kept.

  --rounds N   how many rounds (default: 30)
  --seed TEXT  what all random choices follow from (default: the time)
  --desktop    over the application, whose window is hit too, instead of the headless host
`

/** Gives the exit code. */
export async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '30' },
      seed: { type: 'string', default: String(Date.now()) },
      desktop: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const rounds = Number(values.rounds)
  if (values.help || !Number.isInteger(rounds) || rounds < 1) {
    process.stdout.write(HELP)
    return values.help ? 0 : 2
  }
  const kind: HostKind = values.desktop ? 'desktop' : 'headless'
  const logFile = join(ROOT, 'test-results', 'blows', `${kind}-${values.seed}.log`)
  process.stdout.write(`${rounds} rounds (${kind}), seed ${values.seed}; log: ${logFile}\n`)
  try {
    const ended = signalled()
    await withWorkbench((bench) => {
      const done = runRounds(bench, {
        rounds,
        seed: values.seed,
        kind,
        logFile,
        onRound: (line) => process.stdout.write(`${line}\n`),
      })
      return Promise.race([done, ended])
    })
  } catch (error) {
    process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
  process.stdout.write(`${rounds} rounds, nothing lost, doubled or left over.\n`)
  return 0
}
