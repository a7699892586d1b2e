import { setTimeout as sleep } from 'node:timers/promises'
import type { BalletClient } from '../e2e/support/ballet-client.ts'
import { processesWithVariable } from '../e2e/support/process-tree.ts'
import { makeRuntimes, TESTED, type TestedRuntime, useRuntimes } from '../e2e/support/runtimes.ts'
import { bash, say, script } from '../e2e/support/steps.ts'
import { addProject, startTicket, waitForTurnEnd } from '../e2e/support/watch.ts'
import type { Workbench } from '../e2e/support/workbench.ts'
import type { Bench } from './bench.ts'
import { type Figure, figure, spread } from './figures.ts'
import { pssOf } from './process-memory.ts'

const STARTS = 5
/** After the turn, so that what was only needed for it is given back. */
const SETTLE_MS = 3_000

export const runtimes: Bench = {
  name: 'runtimes',
  method: `A headless host with one agent and the real program of each runtime that the conformance suite runs with, one
after the other. Start-up: from the call that writes a ticket and starts it to the first request at the scripted model, with
the clone of a small repository in it (its mirror is there already); the first start of each is left out. Memory: the
proportional set size (PSS) of everything that runs for a session, ${SETTLE_MS / 1_000} s after a turn with one tool call.
These are figures of the runtimes more than of Ballet: they have no goal. Linux only.`,
  run: async (workbench, { brief, say: tell }) => {
    const made = await makeRuntimes(workbench, TESTED)
    const { path } = await workbench.remote()
    const figures: Figure[] = []
    // Two versions of one program cannot be configured at once: each has a host of its own.
    for (const runtime of TESTED) {
      await useRuntimes(workbench.dataDir, {
        ...made,
        paths: { [runtime.runtime]: runtime.program },
      })
      const host = await workbench.host({ env: made.env })
      figures.push(
        ...(await measure(workbench, host.client, runtime, { path, starts: brief ? 1 : STARTS })),
      )
      await host.stopFast()
      tell(`${runtime.title}: measured`)
    }
    return figures
  },
}

async function measure(
  workbench: Workbench,
  client: BalletClient,
  { title, version, runtime }: TestedRuntime,
  { path, starts }: { readonly path: string; readonly starts: number },
): Promise<Figure[]> {
  const more = { name: title, runtime, planner: false }
  await addProject(client, path, more)
  const times: number[] = []
  const sizes: number[] = []
  for (let round = 0; round <= starts; round += 1) {
    const from = workbench.model.requests().length
    const at = performance.now()
    const body = script(bash('true'), say('Done.'))
    const { session } = await startTicket(client, { project: title, body })
    await workbench.model.waitFor(({ n, tools }) => n > from && tools.length > 0, {
      timeoutMs: 60_000,
    })
    const tookMs = performance.now() - at
    await waitForTurnEnd(client, session.id, 1, 60_000)
    if (round > 0) times.push(tookMs)
    await sleep(SETTLE_MS)
    if (round > 0) sizes.push(await memoryOf(session.id))
    await client.sessions.stop({ ref: session.id })
  }
  const facts = { bench: 'runtimes', samples: starts } as const
  const name = `${title} ${version}`
  return [
    figure({ ...facts, what: `${name}: start → first request`, unit: 'ms', values: spread(times) }),
    figure({ ...facts, what: `${name}: memory of a session`, unit: 'MB', values: spread(sizes) }),
  ]
}

async function memoryOf(session: string): Promise<number> {
  const running = await processesWithVariable('BALLET_SESSION', (mark) =>
    mark.startsWith(`${session}:`),
  )
  const sizes = await Promise.all(running.map(({ pid }) => pssOf(pid)))
  return sizes.reduce((sum, each) => sum + each, 0)
}
