import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLAUDE_PROGRAM } from '../e2e/support/bare-claude.ts'
import { script } from '../e2e/support/steps.ts'
import { waitFor } from '../e2e/support/wait-for.ts'
import { addProject, startTicket } from '../e2e/support/watch.ts'
import { timelineRegion } from '../e2e/support/window.ts'
import type { Bench } from './bench.ts'
import { figure, spread } from './figures.ts'
import { installBench } from './in-window.ts'

const SESSIONS = 8
/** Of the text, with a word that names it: the model streams it whole. */
const PIECE = 28
const EVERY_MS = 50
/** What is on screen right after a session is opened is not counted. */
const SETTLE_MS = 1_000

export const paint: Bench = {
  name: 'pipe to paint',
  method: `The built application with 8 agents, each with a session whose real Claude Code streams a text from a scripted
model, 20 pieces a second. A program in the runtime's place passes every line of the runtime on and notes when a piece
first comes by: that is when it is on the agent's pipe. In the window an observer notes when the piece is in the page
and the frame that shows it is drawn (handed over by the window's main thread; what the display does then is not in it).
Four of the sessions are looked at one after the other while all 8 stream; the first second after opening one is left
out.`,
  run: async (workbench, { brief, say }) => {
    const views = brief ? 1 : 4
    const viewMs = brief ? 3_000 : 9_000
    const stamps = workbench.path('stamps')
    await mkdir(workbench.dataDir, { recursive: true })
    await writeFile(
      join(workbench.dataDir, 'settings.json'),
      JSON.stringify({
        agents: SESSIONS,
        runtimePaths: { 'claude-code': await writeStamper(workbench.folder, stamps) },
      }),
    )
    const desktop = await workbench.desktop()
    const client = await desktop.client()
    const page = desktop.window
    await page.setViewportSize({ width: 1280, height: 800 })
    await addProject(client, (await workbench.remote()).path)
    const pieces = Math.ceil((views * (viewMs + SETTLE_MS) + 6_000) / EVERY_MS)
    const sessions = []
    for (let index = 0; index < SESSIONS; index += 1) {
      const text = Array.from({ length: pieces }, (_, piece) => pieceOf(index, piece)).join('')
      const body = script({ text, chunks: pieces, delay: EVERY_MS, gate: 'stream' })
      sessions.push((await startTicket(client, { title: `Stream ${index}`, body })).session)
    }
    await waitFor(
      'every session to begin its stream',
      () =>
        workbench.model.requestsFor(({ step }) => step?.script === 'inline').length === SESSIONS,
      { timeoutMs: 120_000 },
    )
    await installBench(page)
    workbench.model.release('stream')
    const seen: [string, number][] = []
    for (const session of sessions.slice(0, views)) {
      await page.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
      const box = timelineRegion(page)
      await waitFor(
        'the session',
        async () => (await box.getAttribute('data-session')) === session.id,
      )
      await sleep(SETTLE_MS)
      seen.push(
        ...(await box.evaluate(async (element, ms) => {
          const end = window.bench.watch('k[0-9]+x[0-9]+k', element)
          await new Promise((resolve) => setTimeout(resolve, ms))
          return end()
        }, viewMs)),
      )
    }
    const live = await client.sessions.list({ state: 'working' })
    if (live.length < SESSIONS) throw new Error(`Only ${live.length} sessions streamed to the end.`)
    const passed = await readStamps(stamps)
    const times = seen.flatMap(([piece, at]) => {
      const from = passed.get(piece)
      return from === undefined ? [] : [at - from]
    })
    say(`pipe to paint: ${seen.length} pieces seen, ${times.length} of them with both times`)
    const values = spread(times)
    return [
      figure(
        {
          bench: 'pipe to paint',
          what: 'a runtime’s line on its pipe → painted, 8 sessions streaming',
          unit: 'ms',
          samples: times.length,
          values,
        },
        {
          text: 'p95 under 33 ms, p99 under 60 ms',
          isMet: ({ p95 = Number.POSITIVE_INFINITY, p99 = Number.POSITIVE_INFINITY }) =>
            p95 < 33 && p99 < 60,
        },
      ),
    ]
  },
}

/** Every piece is equally long, so that the model cuts the text exactly between them. */
function pieceOf(session: number, piece: number): string {
  const end = piece % 12 === 11 ? '.\n\n' : ' '
  return (
    `k${session}x${piece}k some **words** more`
      .padEnd(PIECE - end.length)
      .slice(0, PIECE - end.length) + end
  )
}

/** A program in the runtime's place that notes in a file when each piece of text first passes. */
async function writeStamper(folder: string, stamps: string): Promise<string> {
  const file = join(folder, 'stamper.mjs')
  await writeFile(
    file,
    `#!${process.execPath}
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
const child = spawn(${JSON.stringify(CLAUDE_PROGRAM)}, process.argv.slice(2), {
  stdio: ['inherit', 'pipe', 'inherit'],
})
const known = new Set()
let noted = ''
let rest = ''
const keep = () => {
  if (noted !== '') appendFileSync(${JSON.stringify(stamps)}, noted)
  noted = ''
}
child.stdout.on('data', (chunk) => {
  const at = performance.timeOrigin + performance.now()
  process.stdout.write(chunk)
  const text = rest + chunk
  rest = text.slice(-16)
  for (const piece of text.match(/k[0-9]+x[0-9]+k/g) ?? []) {
    if (known.has(piece)) continue
    known.add(piece)
    noted += piece + ' ' + at + '\\n'
  }
})
const timer = setInterval(keep, 500)
child.on('close', (code) => {
  clearInterval(timer)
  keep()
  process.exitCode = code ?? 1
})
`,
  )
  await chmod(file, 0o755)
  return file
}

async function readStamps(file: string): Promise<Map<string, number>> {
  // What the last pieces left is written twice a second.
  await sleep(1_000)
  const lines = (await readFile(file, 'utf8')).split('\n').filter(Boolean)
  return new Map(
    lines.map((line) => {
      const [piece = '', at = ''] = line.split(' ')
      return [piece, Number(at)]
    }),
  )
}
