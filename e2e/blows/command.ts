import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../electron-runtime.ts'
import { signalled } from '../support/signalled.ts'
import { type Workbench, withWorkbench } from '../support/workbench.ts'
import { type RoundsOptions, runRounds } from './rounds.ts'

export type RoundsCommand = {
  /** Of `npm run`, and of the folder of its logs. */
  readonly name: string
  readonly help: string
  /** How many rounds, where the arguments do not say. */
  readonly rounds: number
  /** Further switches. */
  readonly switches?: readonly string[]
  prepare(
    bench: Workbench,
    has: (name: string) => boolean,
  ): Promise<Pick<RoundsOptions, 'rules' | 'remote'>>
}

/** A program that runs rounds with `--rounds` and `--seed`; gives the exit code. */
export async function runCommand(
  { name, help, rounds: usual, switches = [], prepare }: RoundsCommand,
  args: string[],
): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: String(usual) },
      seed: { type: 'string', default: String(Date.now()) },
      help: { type: 'boolean', default: false },
      ...Object.fromEntries(switches.map((each) => [each, { type: 'boolean' }] as const)),
    },
  })
  const rounds = Number(values.rounds)
  const { seed } = values
  if (values.help || !Number.isInteger(rounds) || rounds < 1) {
    process.stdout.write(help)
    return values.help ? 0 : 2
  }
  const ended = signalled()
  const begun = performance.now()
  try {
    await withWorkbench(async (bench) => {
      const isSet = (wanted: string) =>
        Object.entries(values).some(([key, value]) => key === wanted && value === true)
      const options = await prepare(bench, isSet)
      const logFile = roundsLog(name, options.rules.name, seed)
      process.stdout.write(
        `${rounds} rounds (${options.rules.name}), seed ${seed}; log: ${logFile}\n`,
      )
      const onRound = (line: string) => void process.stdout.write(`${line}\n`)
      await Promise.race([runRounds(bench, { ...options, rounds, seed, logFile, onRound }), ended])
    })
  } catch (error) {
    process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
  const minutes = ((performance.now() - begun) / 60_000).toFixed(1)
  process.stdout.write(`${rounds} rounds in ${minutes} min, nothing lost, doubled or left over.\n`)
  return 0
}

/** Where what happened is written, line by line. */
export function roundsLog(command: string, rules: string, seed: string): string {
  return join(ROOT, 'test-results', command, `${rules}-${seed}.log`)
}
