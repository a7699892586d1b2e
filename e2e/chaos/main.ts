import { runCommand } from '../blows/command.ts'
import { chaosRules } from './rules.ts'

const HELP = `Usage: npm run chaos -- [--rounds N] [--seed TEXT]

Runs sessions that ask, wait, park and are resumed, while agents, runtimes, the host, the remote and the disk fail, and
looks after each round whether all was kept. The disk fills and the remote is read-only only where this user may mount.

  --rounds N   how many rounds (default: 200)
  --seed TEXT  what all random choices follow from (default: the time)
`

/** Gives the exit code. */
export function main(args: string[]): Promise<number> {
  return runCommand({ name: 'chaos', help: HELP, rounds: 200, prepare: chaosRules }, args)
}
