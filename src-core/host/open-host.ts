import { join } from 'node:path'
import type { HostInfo } from '../../src-shared/contract.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { createCore } from '../create-core.ts'
import type { AgentProcess, Launcher, Log } from '../ports.ts'
import { createRouter, type Router } from '../router/router.ts'
import { openSqliteStorage } from '../storage/sqlite/client.ts'
import { type DataFolder, prepareDataFolder } from './data-folder.ts'
import { dataKeyFile, keyNotes, writeDataKey } from './data-key.ts'
import { createDemo } from './demo.ts'
import { selectEnvironment } from './environment.ts'
import { takeHostLock } from './host-lock.ts'
import { keptFiles } from './kept-files.ts'
import { readLoginShellEnvironment, wasStartedByDesktop } from './login-shell.ts'
import { machineNotes } from './machine-notes.ts'
import { openSettings } from './settings-file.ts'
import { serveSocket } from './socket-server.ts'
import { createSpool, freeBytes, systemClock, systemIds } from './system.ts'
import { readTexts } from './texts.ts'

export type HostOptions = {
  kind: HostInfo['kind']
  version: string
  /** Absolute. */
  dataDir: string
  /** How many agents this run has; the setting's number when absent. */
  agents?: number
  log: Log
  launcher: Launcher
  /** Gives the data key of a folder; by default it is in a file of its own. */
  key?: (folder: DataFolder) => () => Promise<string>
  /** Absolute paths of what the build made and of the files that are shipped as they are. */
  programs: { storageWorker: string; modelServer: string; resources: string }
}

/** Core with everything that a host gives it, running on a data folder. */
export type Host = {
  router: Router
  info: HostInfo
  /** Where clients of other processes connect. */
  socket: string
  /** Resolves when the host cannot go on, with why; `close` it then. */
  failed: Promise<Error>
  /** In order and within limits: agents hand over what they have; sessions go on at the next start. */
  close(): Promise<void>
  /** At once: agents are killed; sessions are reconciled at the next start. */
  kill(): void
}

/**
 * Opens everything in order; what was opened is closed again when a step fails, and nothing is changed then.
 * Rejects with `BalletError`: `host.incomplete`, `data.…`, `host.running`, `settings.malformed`, `storage.…`, `host.socket-…`.
 */
export async function openHost(options: HostOptions): Promise<Host> {
  const { kind, version, log } = options
  const undo: (() => void | Promise<void>)[] = []
  try {
    const texts = await readTexts(options.programs.resources)
    const folder = await prepareDataFolder(options.dataDir)
    const startedAt = systemClock.now()
    const lock = takeHostLock(folder, { kind, pid: process.pid, startedAt })
    undo.push(() => lock.release())
    const settings = await openSettings(folder.settings, { agents: options.agents })

    let lost: (error: Error) => void = () => undefined
    const failed = new Promise<Error>((resolve) => {
      lost = resolve
    })
    const environment = ownEnvironment(kind, log)
    const storage = await openSqliteStorage({
      file: folder.database,
      worker: options.programs.storageWorker,
      clock: systemClock,
      log,
      onLost: (error) => lost(error),
    })
    undo.push(() => storage.close())

    const fleet = countAgents(options.launcher)
    const env = selectEnvironment(await environment, settings.current.passEnv)
    const demo = createDemo({
      folder,
      resources: join(options.programs.resources, 'demo'),
      program: options.programs.modelServer,
      execPath: process.execPath,
      // Electron's own program runs as Node when it is told so.
      env: 'electron' in process.versions ? { ...env, ELECTRON_RUN_AS_NODE: '1' } : env,
      clock: systemClock,
      log,
    })
    undo.push(() => demo.close())
    const core = createCore({
      clock: systemClock,
      ids: systemIds,
      log,
      storage,
      launcher: fleet.launcher,
      settings,
      paths: folder,
      spool: createSpool(folder.spool),
      host: {
        version,
        kind,
        pid: process.pid,
        freeBytes: () => freeBytes(folder.dataDir),
        notes: async () => [
          ...(await machineNotes(process.env)),
          ...(kind === 'desktop' ? await keyNotes(folder) : []),
        ],
      },
      environment: env,
      texts,
      key: options.key?.(folder) ?? dataKeyFile(folder),
      exportKey: (key) => writeDataKey(folder, key),
      kept: keptFiles(folder),
      demo,
    })
    undo.push(fleet.killAll)
    // The model of a demo that goes on comes back while the agents start.
    await Promise.all([core.start(), demo.resume()])
    undo.push(() => core.stop())

    const router = createRouter(core, log)
    const socket = await serveSocket(router, folder, lock, log)
    undo.push(() => socket.close())
    const info = await core.calls.host.info(undefined)
    if (!info.ok) throw new BalletError(info.refusal)
    log.info('the host runs', { ...info.value, socket: socket.path })
    let closed: Promise<void> | undefined
    return {
      router,
      info: info.value,
      socket: socket.path,
      failed,
      close: () => {
        closed ??= runBackwards(undo, log).then(() => log.info('the host ended in order'))
        return closed
      },
      kill: fleet.killAll,
    }
  } catch (error) {
    await runBackwards(undo, log)
    throw error
  }
}

/** Every step is tried, also when another one fails. */
async function runBackwards(steps: readonly (() => void | Promise<void>)[], log: Log) {
  for (const step of [...steps].reverse()) {
    try {
      await step()
    } catch (error) {
      log.error('a part of the host did not end in order', { error })
    }
  }
}

/** What a person's shell sets up, where the desktop started the application without it. Never rejects. */
async function ownEnvironment(kind: HostInfo['kind'], log: Log): Promise<NodeJS.ProcessEnv> {
  if (kind === 'headless' || !wasStartedByDesktop(process.env)) return process.env
  const { env, problem } = await readLoginShellEnvironment({
    env: process.env,
    execPath: process.execPath,
  })
  if (problem !== undefined) log.warn(problem)
  return env
}

/** Knows every agent that runs, for the end at once. */
function countAgents(launcher: Launcher): { launcher: Launcher; killAll(): void } {
  const running = new Set<AgentProcess>()
  return {
    launcher: {
      launch: (agent, env) => {
        const started = launcher.launch(agent, env)
        running.add(started)
        started.onExit(() => running.delete(started))
        return started
      },
    },
    killAll: () => {
      for (const agent of running) agent.kill()
    },
  }
}
