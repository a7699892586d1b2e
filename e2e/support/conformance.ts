import { expect } from '@playwright/test'
import type { Session } from '../../src-shared/records.ts'
import type { RuntimeCapabilities } from '../../src-shared/runtimes.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { RecordedRequest } from '../model/record.ts'
import type { Step } from '../model/script.ts'
import type { BalletClient } from './ballet-client.ts'
import type { HeadlessHost } from './headless-host.ts'
import { type ProcessInfo, processesWithVariable } from './process-tree.ts'
import { makeRuntimes, type TestedRuntime, useRuntimes } from './runtimes.ts'
import { script } from './steps.ts'
import { checkTimeline } from './timeline-checks.ts'
import { waitFor } from './wait-for.ts'
import { addProject, startTicket, timelineOf, waitForTurnEnd } from './watch.ts'
import type { Workbench } from './workbench.ts'

/** Starting a cold runtime beside another one takes long on a busy machine. */
export const TURN_LIMIT_MS = 120_000

/** A host with one runtime and one session of it. */
export type Scene = {
  readonly host: HeadlessHost
  readonly client: BalletClient
  readonly can: RuntimeCapabilities
  readonly id: Session['id']
  /** What the model was asked with tools in its hand, oldest first. */
  requests(): RecordedRequest[]
  session(): Promise<Session>
  /** The whole timeline, once it is found to be as the contract has it. */
  checked(): Promise<TimelineEvent[]>
  /** Sends a script, with words before it, and waits for the end of its turn. */
  turn(turn: number, words: string, ...steps: Step[]): Promise<void>
  /** The runtime's own process and everything that it started. */
  processes(): Promise<ProcessInfo[]>
}

export type SceneOptions = {
  readonly project?: Parameters<typeof addProject>[2]
  /** Stands in the runtime's place. */
  readonly program?: string
  readonly files?: Readonly<Record<string, string>>
}

/** Starts a host with the runtime, and gives a ticket with these words and this script to an agent. */
export async function begin(
  bench: Workbench,
  runtime: TestedRuntime,
  body: string,
  { project = {}, program, files }: SceneOptions = {},
): Promise<Scene & { readonly repo: string }> {
  const runtimes = await makeRuntimes(bench, [runtime], program === undefined ? {} : { program })
  await useRuntimes(bench.dataDir, runtimes)
  const host = await bench.host({ env: runtimes.env })
  const { client } = host
  const remote = await bench.remote(files === undefined ? {} : { files })
  await addProject(client, remote.path, {
    ...{ runtime: runtime.runtime, planner: false, window: 'never' },
    ...project,
  })
  const { session } = await startTicket(client, { body })
  await waitFor(
    'the session to run',
    async () => {
      const { state, reason } = await client.sessions.show({ ref: session.id })
      // What else happens then is what the test is about.
      return state !== 'queued' && state !== 'starting' && { state, reason }
    },
    { timeoutMs: TURN_LIMIT_MS },
  ).then(({ state, reason }) => expect(state, reason).not.toBe('failed'))
  return { ...(await sceneOf(bench, host, runtime, session.id)), repo: remote.path }
}

/** The scene of a session that is there already. */
export async function sceneOf(
  bench: Workbench,
  host: HeadlessHost,
  { runtime }: Pick<TestedRuntime, 'runtime'>,
  id: Session['id'],
): Promise<Scene> {
  const { client } = host
  const can = await waitFor('the capabilities', async () =>
    (await client.host.info()).runtimes.find((each) => each.runtime === runtime),
  )
  const session = () => client.sessions.show({ ref: id })
  return {
    ...{ host, client, id, session, can: can.capabilities },
    requests: () =>
      bench.model.requestsFor(({ tools, step }) => tools.length > 0 && step !== undefined),
    checked: async () => {
      const events = await timelineOf(client, id)
      checkTimeline(events, await session())
      return events
    },
    turn: async (turn, words, ...steps) => {
      await client.sessions.send({ ref: id, text: `${words} ${script(...steps)}` })
      await waitForTurnEnd(client, id, turn, TURN_LIMIT_MS)
    },
    processes: () => processesWithVariable('BALLET_SESSION', (mark) => mark.startsWith(`${id}:`)),
  }
}

/** Stops the session: nothing that was started for it is left. */
export async function expectNothingLeft({ client, id, processes }: Scene): Promise<void> {
  expect(await processes()).not.toEqual([])
  await client.sessions.stop({ ref: id })
  let left: ProcessInfo[] = []
  await waitFor(
    'the processes of the session to be gone',
    async () => {
      left = await processes()
      return left.length === 0
    },
    { state: () => left },
  )
}

/** The process that the agent names as its runtime. */
export async function runtimeProcess({ client }: Scene): Promise<number> {
  return waitFor('the runtime', async () => {
    const [agent] = await client.agents.list()
    return agent?.runtimePids[0]
  })
}
