import { runProgram } from './ground/run-source.mjs'

await runProgram('bench/main.ts', { forTests: true })
