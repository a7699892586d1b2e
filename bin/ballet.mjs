#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { withoutNpmFolders } from './npm-path.mjs'

const program = new URL('../out/node/cli.js', import.meta.url)
if (process.env.npm_lifecycle_event === 'npx') {
  const root = fileURLToPath(new URL('..', import.meta.url))
  Object.assign(process.env, withoutNpmFolders(process.env, root))
}
if (existsSync(fileURLToPath(program))) await import(program.href)
else {
  const error = {
    code: 'NOT_BUILT',
    message: 'The command line is not built in this clone.',
    hint: 'Run npm run setup in the folder of the clone, then try again.',
  }
  process.stderr.write(
    process.argv.includes('--json')
      ? `${JSON.stringify({ error })}\n`
      : `${error.message}\n${error.hint}\n`,
  )
  process.exitCode = 1
}
