import { join } from 'node:path'
import { runRounds } from '../../blows/rounds.ts'
import { ROOT } from '../../electron-runtime.ts'
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
      rounds,
      seed: SEED,
      kind,
      logFile: join(ROOT, 'test-results', 'blows', `${kind}-${SEED}.log`),
      onRound: (line) => console.log(`${kind}, ${line}`),
    })
  })
}
