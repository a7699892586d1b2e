import { runCommandLine } from './program.ts'
import { createRealWorld } from './real-world.ts'
import { written } from './written.ts'

/** How long what is left may take after a command is done, before the process ends all the same. */
const LINGER_LIMIT_MS = 2_000

process.exitCode = await runCommandLine(process.argv.slice(2), createRealWorld())
await Promise.all([written(process.stdout), written(process.stderr)])
setTimeout(() => process.exit(), LINGER_LIMIT_MS).unref()
