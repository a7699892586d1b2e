import { runProgram } from './ground/run-source.mjs'

await runProgram('e2e/blows/main.ts')
