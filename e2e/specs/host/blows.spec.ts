import { roundsLog } from '../../blows/command.ts'
import { runRounds } from '../../blows/rounds.ts'
import { blowRules } from '../../blows/rules.ts'
import { test } from '../../support/workbench.ts'

const SEED = 'ballet'

for (const { kind, rounds } of [
  { kind: 'headless', rounds: 30 },
  { kind: 'desktop', rounds: 3 },
] as const) {
  test(`${rounds} rounds of blows lose, double and leave nothing (${kind})`, async ({ bench }) => {
    // A few seconds a round on a quiet machine.
    test.setTimeout(1_500_000)
    await runRounds(bench, {
      rules: blowRules(kind),
      remote: await bench.remote(),
      rounds,
      seed: SEED,
      logFile: roundsLog('blows', kind, SEED),
      onRound: (line) => console.log(`${kind}, ${line}`),
    })
  })
}
