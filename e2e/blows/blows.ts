import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionId } from '../../src-shared/ids.ts'
import type { Agent } from '../../src-shared/records.ts'
import { doInMain, readInMain } from '../support/main-process.ts'
import {
  descendantsOf,
  endProcesses,
  type ProcessInfo,
  processOf,
} from '../support/process-tree.ts'
import type { Scene } from './deeds.ts'
import type { HostKind } from './host-under-blows.ts'
import type { Random, Weights } from './random.ts'

export type Blow =
  | 'runtime'
  | 'tool'
  | 'agent'
  | 'host'
  | 'host twice'
  | 'orderly end'
  | 'window reload'
  | 'window kill'

/** What the blow waits for, so that it hits there. */
export type Moment = 'any' | 'in a tool' | 'in a stream' | 'in a start' | 'in a parking'

/** How often each comes. */
export const BLOWS: Readonly<Record<HostKind, Weights<Blow>>> = {
  headless: { runtime: 5, tool: 1, agent: 5, host: 3, 'host twice': 1, 'orderly end': 1 },
  desktop: { runtime: 1, agent: 1, host: 2, 'window reload': 3, 'window kill': 3 },
}

export const MOMENTS: Weights<Moment> = {
  any: 3,
  'in a tool': 2,
  'in a stream': 2,
  'in a start': 2,
}

/** Another moment than the wanted one is good too, when that does not come. */
const MOMENT_LIMIT_MS = 1_200

export async function strike(
  scene: Scene,
  blow: Blow,
  moment: Moment,
  random: Random,
): Promise<void> {
  const { host, log } = scene
  const session = await waitForMoment(scene, moment)
  await sleep(random.between(0, 60))
  switch (blow) {
    case 'host':
      return host.down('kill', random.between(0, 400))
    case 'orderly end':
      return host.down('end', 0)
    case 'host twice':
      return host.downTwice(random.between(50, 900))
    case 'window reload':
    case 'window kill':
      return strikeWindow(scene, blow)
    case 'runtime':
    case 'tool':
    case 'agent': {
      const victim = await victimOf(scene, blow, session, random)
      if (victim === undefined) return log.say(`no ${blow} to kill`)
      log.say(`kill -9 of ${blow} ${victim.pid} (${moment}): ${victim.command.slice(0, 60)}`)
      await endProcesses([victim])
    }
  }
}

/** The session that has come to the moment, where that is one of a session. */
async function waitForMoment(
  { host, ledger }: Scene,
  moment: Moment,
): Promise<SessionId | undefined> {
  if (moment === 'any') return undefined
  const deadline = performance.now() + MOMENT_LIMIT_MS
  while (performance.now() < deadline) {
    if (moment === 'in a start' || moment === 'in a parking') {
      const sessions = await host.life?.client.sessions.list().catch(() => [])
      const states = moment === 'in a start' ? ['starting', 'resuming'] : ['parking']
      const there = sessions?.find(({ state, agent }) => agent !== null && states.includes(state))
      if (there !== undefined) return there.id
    } else {
      for (const [id, follower] of ledger.followers) {
        if (moment === 'in a tool' ? follower.isInTool : follower.isInStream) return id
      }
    }
    await sleep(10)
  }
  return undefined
}

async function victimOf(
  { host }: Scene,
  blow: 'runtime' | 'tool' | 'agent',
  session: SessionId | undefined,
  random: Random,
): Promise<ProcessInfo | undefined> {
  const { life } = host
  const agents = (await life?.client.agents.list().catch(() => [])) ?? []
  const up = agents.filter((agent): agent is Agent & { pid: number } => agent.pid !== null)
  if (up.length === 0) return undefined
  const agent = up.find((each) => each.session === session) ?? random.pick(up)
  if (blow === 'agent') return processOf(agent.pid)
  const below = await descendantsOf(agent.pid)
  const runtimes = below.filter(({ command }) => command.includes('stream-json'))
  if (blow === 'runtime') return runtimes.at(0)
  const tools = below.filter(({ command }) => /^sleep /u.test(command))
  return tools.at(0)
}

async function strikeWindow({ host, log }: Scene, blow: 'window reload' | 'window kill') {
  const app = host.life?.app
  if (app === undefined) return log.say('no window to hit')
  // Not through the page: to Playwright, a page whose process was killed stays crashed.
  if (blow === 'window reload') {
    log.say('the window is reloaded')
    await doInMain(app.app, ({ BrowserWindow }) =>
      BrowserWindow.getAllWindows()[0]?.webContents.reload(),
    ).catch((error: unknown) => {
      // The application may have been killed meanwhile.
      if (app.isRunning()) throw error
    })
    return
  }
  const pid = await readInMain(app.app, ({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]?.webContents.getOSProcessId(),
  ).catch(() => undefined)
  const victim = pid === undefined ? undefined : await processOf(pid)
  if (victim === undefined) return log.say('no window to kill')
  log.say(`kill -9 of the window ${victim.pid}`)
  await endProcesses([victim])
}
