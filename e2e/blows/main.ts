import { runCommand } from './command.ts'
import { blowRules } from './rules.ts'

const HELP = `Usage: npm run blows -- [--rounds N] [--seed TEXT] [--desktop]

Runs sessions while agents, runtimes and the host are killed, and looks after each round whether all was kept.

  --rounds N   how many rounds (default: 30)
  --seed TEXT  what all random choices follow from (default: the time)
  --desktop    over the application, whose window is hit too, instead of the headless host
`

/** Gives the exit code. */
export function main(args: string[]): Promise<number> {
  return runCommand(
    {
      name: 'blows',
      help: HELP,
      rounds: 30,
      switches: ['desktop'],
      prepare: async (bench, has) => ({
        rules: blowRules(has('desktop') ? 'desktop' : 'headless'),
        remote: await bench.remote(),
      }),
    },
    args,
  )
}
