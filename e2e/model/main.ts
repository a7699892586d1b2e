import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parseScriptBook, type ScriptBook } from './script.ts'
import { startModelServer } from './server.ts'

const HELP = `Usage: model-server [--port N] [--record FILE] [--script FILE] [--keep N]

A scripted model that speaks the Anthropic Messages API and the OpenAI Responses API on 127.0.0.1.
Prints one JSON line, {"url","port","pid"}, when it listens.

  --port N       port to listen on (default: a free one)
  --record FILE  append every request as JSON lines
  --script FILE  named scripts: {"scripts":[{"name","match","steps"}],"fallback"}
  --keep N       how many requests stay in memory (default: 500)
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      record: { type: 'string' },
      script: { type: 'string' },
      keep: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const server = await startModelServer({
    port: readNumber('--port', values.port ?? '0'),
    recordFile: values.record,
    keep: readNumber('--keep', values.keep ?? '500'),
    book: values.script === undefined ? undefined : readBook(values.script),
  })
  const stop = (): void => {
    void server.close().then(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  // Who starts it as a child with a channel gets the address there too, and takes it along at the end.
  process.once('disconnect', stop)
  const ready = { url: server.url, port: server.port, pid: process.pid }
  process.stdout.write(`${JSON.stringify(ready)}\n`)
  process.send?.(ready)
}

function readNumber(option: string, value: string): number {
  if (/^\d+$/u.test(value)) return Number(value)
  throw new Error(`${option} wants a whole number, not ${JSON.stringify(value)}.`)
}

function readBook(file: string): ScriptBook {
  try {
    return parseScriptBook(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new Error(`The script file ${file} cannot be used: ${String(error)}`)
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
