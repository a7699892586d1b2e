import type { HeadlessHost } from './headless-host.ts'
import { isAlive, processOf } from './process-tree.ts'
import { waitFor } from './wait-for.ts'
import type { Workbench } from './workbench.ts'

/** Who can die. */
export const victims = ['the runtime', 'the agent', 'the host'] as const
export type Victim = (typeof victims)[number]

/** `kill -9` of one process; the host is started again on the same folder where it was the victim. */
export async function killed(
  bench: Workbench,
  host: HeadlessHost,
  victim: Victim,
): Promise<HeadlessHost> {
  if (victim === 'the host') {
    await host.kill()
    return bench.host()
  }
  const pid = await waitFor('the pid', () => pidOf(bench, host, victim))
  const before = await processOf(pid)
  if (before === undefined) throw new Error(`No process ${pid}`)
  const restarts = await restartsOf(host)
  process.kill(pid, 'SIGKILL')
  await waitFor('its end', async () => !(await isAlive(before)))
  if (victim === 'the agent') {
    // Until the host has seen it, its rows tell of the agent as it was.
    await waitFor('the host to see it', async () => (await restartsOf(host)) > restarts)
  }
  return host
}

async function restartsOf({ client }: HeadlessHost): Promise<number> {
  return (await client.agents.list()).reduce((sum, agent) => sum + agent.restarts, 0)
}

async function pidOf(
  bench: Workbench,
  host: HeadlessHost,
  victim: Victim,
): Promise<number | undefined> {
  if (victim === 'the agent') return (await host.client.agents.list())[0]?.pid ?? undefined
  const found = (await bench.processes()).find(({ command }) => command.includes('stream-json'))
  return found?.pid
}
