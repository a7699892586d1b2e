import { runProgram } from './ground/run-source.mjs'

await runProgram('e2e/chaos/main.ts')
