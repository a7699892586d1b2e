import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BalletClient } from './ballet-client.ts'
import { processesWithVariable } from './process-tree.ts'
import { waitFor } from './wait-for.ts'
import type { Workbench } from './workbench.ts'

/**
 * Waits until nothing is left of what is over: no process of a session that holds no agent, no workspace of a finished
 * session, no item that an agent left for the next host.
 */
export async function expectNoLeftovers(bench: Workbench, client: BalletClient): Promise<void> {
  let found: string[] = []
  await waitFor(
    'nothing to be left over',
    async () => {
      found = await leftovers(bench, client)
      return found.length === 0
    },
    { everyMs: 100, state: () => found },
  )
}

async function leftovers(bench: Workbench, client: BalletClient): Promise<string[]> {
  const sessions = await client.sessions.list()
  const over = sessions.filter(({ agent }) => agent === null).map(({ id }) => id)
  const running = await processesWithVariable('BALLET_SESSION', (mark) =>
    over.some((id) => mark.startsWith(`${id}:`)),
  )
  const kept = new Set(sessions.map(({ workspace }) => workspace))
  const workspaces = await entries(join(bench.dataDir, 'workspaces'))
  return [
    ...running.map(({ pid, command }) => `${pid} ${command}`),
    ...workspaces.filter((path) => !kept.has(path)),
    ...(await entries(join(bench.dataDir, 'spool'))),
  ]
}

async function entries(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.map((name) => join(folder, name))
}
