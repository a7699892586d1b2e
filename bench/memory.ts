import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { descendantsOf } from '../e2e/support/process-tree.ts'
import { say as said, script } from '../e2e/support/steps.ts'
import { addProject, startTicket, waitForTurnEnd } from '../e2e/support/watch.ts'
import type { Bench } from './bench.ts'
import { atMost, figure, spread } from './figures.ts'
import { pssOf } from './process-memory.ts'

const SESSIONS = 10
/** After the last turn, so that what was only needed for it is given back. */
const SETTLE_MS = 5_000

export const memory: Bench = {
  name: 'memory',
  method: `The built application with 10 agents and 10 sessions of a real Claude Code, each after one turn and waiting; one
of them is open in the window. Memory is the proportional set size (PSS) of /proc, 5 s after the last turn: of each agent
process, and of all processes of the application together (main process, window, helpers and agents), without the runtimes
and what they started. Linux only.`,
  run: async (workbench, { brief }) => {
    const count = brief ? 2 : SESSIONS
    await mkdir(workbench.dataDir, { recursive: true })
    await writeFile(join(workbench.dataDir, 'settings.json'), JSON.stringify({ agents: count }))
    const desktop = await workbench.desktop()
    const client = await desktop.client()
    await addProject(client, (await workbench.remote()).path)
    const sessions = []
    for (let index = 0; index < count; index += 1) {
      const body = script(
        { ...said('Done.'), tool: 'Bash', input: { command: 'ls' } },
        said('Done.'),
      )
      sessions.push((await startTicket(client, { title: `Work ${index}`, body })).session)
    }
    for (const { id } of sessions) await waitForTurnEnd(client, id, 1, 120_000)
    const first = sessions[0]?.ticket ?? ''
    await desktop.window.getByRole('treeitem', { name: new RegExp(`${first}\\b`, 'u') }).click()
    await sleep(SETTLE_MS)
    const agents = (await client.agents.list()).flatMap(({ pid }) => (pid === null ? [] : [pid]))
    const all = await descendantsOf(desktop.pid)
    // Runtimes are the agents' children; of the rest everything is the application's.
    const runtimes = new Set<number>()
    for (const agent of agents) {
      for (const { pid } of await descendantsOf(agent)) runtimes.add(pid)
    }
    const own = [desktop.pid, ...all.map(({ pid }) => pid).filter((pid) => !runtimes.has(pid))]
    const ofAgents = await Promise.all(agents.map(pssOf))
    const ofAll = await Promise.all(own.map(pssOf))
    const facts = { bench: 'memory', unit: 'MB' } as const
    return [
      figure(
        {
          ...facts,
          what: 'an agent process with a session',
          samples: ofAgents.length,
          values: spread(ofAgents),
        },
        atMost('max', 60, 'under 60 MB'),
      ),
      figure(
        {
          ...facts,
          what: `the application with ${count} sessions`,
          samples: 1,
          values: { sum: ofAll.reduce((sum, each) => sum + each, 0) },
        },
        atMost('sum', 800, 'under 800 MB'),
      ),
    ]
  },
}
