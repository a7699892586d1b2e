#!/usr/bin/env node
// Behaves like Claude Code in ways that the real one cannot be brought to. FAKE_CLAUDE names the way.
import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { createInterface } from 'node:readline'

const way = process.env.FAKE_CLAUDE
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

if (process.argv.includes('--version')) {
  if (way === 'hangs') setInterval(() => {}, 1_000)
  else if (way === 'broken') process.stderr.write('cannot open shared object\n')
  else process.stdout.write(`${way === 'old' ? '2.0.0' : '2.1.999'} (Claude Code)\n`)
} else if (process.argv[2] === 'auth') {
  process.stdout.write(way === 'no-json' ? 'Login: yes\n' : '{"loggedIn":true,"authMethod":"x"}')
} else if (way === 'dies') {
  process.stderr.write("error: unknown option '--nonsense'\n")
  process.exit(3)
} else if (way === 'tells its key') {
  process.stderr.write(`error: ${process.env.ANTHROPIC_API_KEY} is no key\n`)
  process.exit(3)
} else if (way === 'dies slowly') {
  closeSync(0)
  process.stderr.write('error: the moon is wrong\n')
  setTimeout(() => process.exit(7), 300)
} else {
  if (way === 'strange start') {
    process.stdout.write('Welcome!\n{"type":"from_the_future"}\n')
    process.stdout.write(`${'x'.repeat(33 * 1024 * 1024)}\n`)
  }
  createInterface({ input: process.stdin }).on('line', (line) => take(JSON.parse(line)))
}

function take(line) {
  if (line.type === 'control_request') control(line)
  if (line.type === 'user' && line.shouldQuery === false) forget(line)
  else if (line.type === 'user') void turn(line)
}

function control({ request_id, request }) {
  if (request.subtype === 'interrupt' && way === 'deaf') return
  const response =
    request.subtype === 'initialize'
      ? {
          claude_code_version: way === 'older' ? '2.1.200' : '2.1.999',
          account: { apiProvider: 'firstParty', tokenSource: 'x' },
        }
      : {}
  print({ type: 'control_response', response: { subtype: 'success', request_id, response } })
}

/** A message that should have been known is taken as a new one. */
function forget(line) {
  print({ type: 'system', subtype: 'init' })
  print({ ...line, isReplay: true })
  print({ type: 'result', subtype: 'success', is_error: false, num_turns: 0 })
}

async function turn(line) {
  print({ type: 'command_lifecycle', command_uuid: line.uuid, state: 'started' })
  print({ type: 'system', subtype: 'init' })
  print({ ...line, isReplay: true })
  if (way === 'deaf') {
    spawn('sleep', ['300'], { stdio: 'ignore', detached: true })
    return
  }
  if (way === 'tells its key in the end') {
    process.stderr.write(`error: ${process.env.ANTHROPIC_API_KEY} is no key\n`)
    process.exit(3)
  }
  if (way === 'huge') {
    process.stdout.write('this is not JSON\n')
    print({ type: 'from_the_future', value: 1 })
    print({ type: 'from_the_future', value: 2 })
    const piece = 'x'.repeat(1024 * 1024)
    process.stdout.write('{"type":"assistant","text":"')
    for (let n = 0; n < 50; n += 1) {
      if (!process.stdout.write(piece)) {
        await new Promise((resolve) => process.stdout.once('drain', resolve))
      }
    }
    process.stdout.write('"}\n')
  }
  const content = [{ type: 'text', text: 'Still here.' }]
  print({ type: 'assistant', uuid: 'a-1', message: { id: 'm-1', content } })
  print({ type: 'result', subtype: 'success', is_error: false, num_turns: 1 })
}
