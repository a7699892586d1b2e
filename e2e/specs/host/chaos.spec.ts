import { roundsLog } from '../../blows/command.ts'
import { runRounds } from '../../blows/rounds.ts'
import { chaosRules } from '../../chaos/rules.ts'
import { test } from '../../support/workbench.ts'

const SEED = 'ballet'
/** `npm run chaos` makes more. */
const ROUNDS = 20

test(`${ROUNDS} rounds of chaos lose, double and leave nothing`, async ({ bench }) => {
  // A few seconds a round on a quiet machine.
  test.setTimeout(1_500_000)
  await runRounds(bench, {
    ...(await chaosRules(bench)),
    rounds: ROUNDS,
    seed: SEED,
    logFile: roundsLog('chaos', 'chaos', SEED),
    onRound: (line) => console.log(`chaos, ${line}`),
  })
})
