import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { desktopCommand } from '../e2e/support/desktop-app.ts'
import { type Program, startProgram } from '../e2e/support/program.ts'
import { addProject } from '../e2e/support/watch.ts'
import type { Workbench } from '../e2e/support/workbench.ts'
import type { Bench } from './bench.ts'
import { atMost, figure, median, spread } from './figures.ts'

export const start: Bench = {
  name: 'start',
  method: `From the start of the program to a window that can be used: the sidebar shows the project’s ticket and the fleet
shows its agents, drawn. Against the same Electron with an application of ten lines that shows an empty window, to the
moment its page is drawn. Both are started in turns, each time as a new process on a folder that was used before, and are
looked at over Chromium’s own debugging port; the first start of each is left out.`,
  run: async (workbench, { brief }) => {
    const host = await workbench.host()
    await addProject(host.client, (await workbench.remote()).path)
    await host.client.tickets.add({ project: 'Shop', title: 'Seen at the start' })
    await host.stop()
    const ballet = desktopCommand({ dataDir: workbench.dataDir, env: workbench.env })
    const empty = {
      ...ballet,
      args: [
        // Without Ballet's folder and what follows it.
        ...ballet.args.filter((arg) => arg === '--no-sandbox'),
        await writeEmptyApp(workbench),
        `--user-data-dir=${workbench.path('empty-data')}`,
      ],
    }
    const times: { ballet: number[]; empty: number[] } = { ballet: [], empty: [] }
    const rounds = brief ? 1 : 8
    for (let round = 0; round <= rounds; round += 1) {
      const usable = `document.querySelector('[role=treeitem]') !== null &&
        document.querySelector('[aria-label=Fleet]')?.children.length > 0 &&
        document.body.textContent.includes('Seen at the start')`
      const own = await startOnce(empty, `document.body?.textContent.includes('empty') === true`)
      const its = await startOnce(ballet, usable)
      if (round === 0) continue
      times.empty.push(own)
      times.ballet.push(its)
    }
    const facts = { bench: 'start', samples: rounds } as const
    const ratio = median(times.ballet) / median(times.empty)
    return [
      figure(
        {
          ...facts,
          what: 'start → usable window, against an empty one',
          unit: 'ratio',
          values: { ratio },
        },
        atMost('ratio', 2, 'at most 2 ×'),
      ),
      figure({ ...facts, what: 'start → usable window', unit: 'ms', values: spread(times.ballet) }),
      figure({
        ...facts,
        what: 'an empty Electron window',
        unit: 'ms',
        values: spread(times.empty),
      }),
    ]
  },
}

async function writeEmptyApp(workbench: Workbench): Promise<string> {
  const folder = workbench.path('empty-app')
  await mkdir(folder)
  await writeFile(
    join(folder, 'package.json'),
    '{"name":"empty","version":"1.0.0","main":"main.cjs"}\n',
  )
  await writeFile(
    join(folder, 'main.cjs'),
    `const { app, BrowserWindow } = require('electron')
app.whenReady().then(() => new BrowserWindow({ width: 1280, height: 800 }).loadFile('page.html'))
`,
  )
  await writeFile(join(folder, 'page.html'), '<!doctype html><title>empty</title><p>empty</p>\n')
  return folder
}

/** Milliseconds from the start of the program to the moment at which the condition holds in its page and is drawn. */
async function startOnce(
  { executablePath, args, env }: ReturnType<typeof desktopCommand>,
  condition: string,
): Promise<number> {
  const begun = performance.timeOrigin + performance.now()
  const program = startProgram(executablePath, ['--remote-debugging-port=0', ...args], { env })
  try {
    return (await conditionMet(program, condition)) - begun
  } finally {
    program.child.kill('SIGTERM')
    const timer = setTimeout(() => program.child.kill('SIGKILL'), 10_000)
    await program.exited
    clearTimeout(timer)
  }
}

async function conditionMet(program: Program, condition: string): Promise<number> {
  const deadline = performance.now() + 30_000
  while (performance.now() < deadline) {
    const page = await pageOf(program)
    const at = page === undefined ? undefined : await evaluate(page, condition)
    if (at !== undefined) return at
    await sleep(5)
  }
  throw new Error(`No usable window within 30 s.\n${program.stderr()}`)
}

async function pageOf(program: Program): Promise<string | undefined> {
  const port = /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//u.exec(program.stderr())?.[1]
  if (port === undefined) return undefined
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined)
  const targets = (await answer?.json().catch(() => undefined)) as
    | { type: string; webSocketDebuggerUrl: string }[]
    | undefined
  return targets?.find(({ type }) => type === 'page')?.webSocketDebuggerUrl
}

/** The moment at which the condition holds and is drawn; undefined when the page went away before that. */
function evaluate(url: string, condition: string): Promise<number | undefined> {
  const expression = `new Promise((resolve) => {
    const look = () => {
      if (!(${condition})) return false
      observer.disconnect()
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve(performance.timeOrigin + performance.now())
        port2.postMessage(null)
      })
      return true
    }
    const observer = new MutationObserver(look)
    if (!look()) observer.observe(document, { subtree: true, childList: true, characterData: true })
  })`
  return new Promise((resolve) => {
    const socket = new WebSocket(url)
    const done = (value: number | undefined) => {
      clearTimeout(timer)
      socket.close()
      resolve(value)
    }
    // Looked at anew: a page that is replaced while it is looked at never answers.
    const timer = setTimeout(() => done(undefined), 15_000)
    socket.on('error', () => done(undefined))
    socket.on('close', () => done(undefined))
    socket.on('open', () =>
      socket.send(
        JSON.stringify({
          ...{ id: 1, method: 'Runtime.evaluate' },
          params: { expression, awaitPromise: true, returnByValue: true },
        }),
      ),
    )
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as {
        id?: number
        result?: { result?: { value?: unknown } }
      }
      if (message.id !== 1) return
      const value = message.result?.result?.value
      done(typeof value === 'number' ? value : undefined)
    })
  })
}
