import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuid } from 'uuid'
import manifest from '../package.json' with { type: 'json' }
import type { HeadlessHostModule } from '../src-shared/headless-host.ts'
import { connectToHost } from './connection.ts'
import { UsageError } from './failures.ts'
import type { Terminal, World } from './world.ts'

export function createRealWorld(): World {
  let endsWithReader = true
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      // Whoever stops reading has read enough; that is no failure.
      if (endsWithReader) process.exit()
    })
  }
  return {
    env: process.env,
    platform: process.platform,
    home: homedir(),
    cwd: process.cwd(),
    version: manifest.version,
    stdout: terminal(process.stdout),
    stderr: terminal(process.stderr),
    ignoreBrokenPipe: () => {
      endsWithReader = false
    },
    readStdin,
    askSecret,
    readFile: (path) => readFile(path),
    connect: connectToHost,
    loadHost,
    temporaryFolder: async () => {
      const path = await mkdtemp(join(tmpdir(), 'ballet-demo-'))
      return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
    },
    onStop: (listener) => {
      const signals = ['SIGINT', 'SIGTERM'] as const
      for (const signal of signals) process.on(signal, listener)
      return () => {
        for (const signal of signals) process.off(signal, listener)
      }
    },
    signal: (pid, signal) => {
      process.kill(pid, signal)
    },
    monotonic: () => performance.now(),
    now: () => Date.now(),
    sleep: async (ms, signal) => {
      // Cut short by the signal is no failure: whoever gave it looks at it.
      await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
    },
    uuid,
  }
}

function terminal(stream: NodeJS.WriteStream): Terminal {
  return {
    write: (text) => {
      stream.write(text)
    },
    columns: stream.isTTY ? stream.columns : undefined,
    colour: stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  }
}

/** The headless host is a program of its own beside this one; it is loaded only by the commands that run it. */
async function loadHost(): Promise<HeadlessHostModule> {
  const program = new URL('./server.js', import.meta.url)
  return (await import(/* @vite-ignore */ program.href)) as HeadlessHostModule
}

async function readStdin(limit: number): Promise<string> {
  let text = ''
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) {
    text += chunk
    if (text.length > limit) {
      throw new UsageError({
        code: 'usage.value',
        message: `The standard input has more than ${limit} characters.`,
        hint: 'Put the rest into a file of the repository and name the file.',
      })
    }
  }
  return text
}

async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) {
    throw new UsageError({
      code: 'usage.missing',
      message: 'There is no passphrase, and no terminal to ask for one.',
      hint: 'Give it in the environment variable BALLET_PASSPHRASE.',
    })
  }
  stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true })
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => {
        reject(new UsageError({ code: 'usage.missing', message: 'No passphrase was given.' }))
      })
    })
  } finally {
    lines.close()
    stderr.write('\n')
  }
}
