import { fileURLToPath } from 'node:url'
import manifest from '../package.json' with { type: 'json' }
import {
  createHostLog,
  createQuitting,
  examine,
  hostDrain,
  type Log,
  openHost,
  systemClock,
  systemIds,
} from '../src-core/index.ts'
import type { HeadlessHostModule } from '../src-shared/headless-host.ts'
import type { TicketKey } from '../src-shared/ids.ts'
import { createChildLauncher } from './child-launcher.ts'

/** Where the build put the programs that a host starts, beside this one, and the files that are shipped. */
const built = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export const startHeadlessHost: HeadlessHostModule['startHeadlessHost'] = async ({
  dataDir,
  agents,
}) => {
  const log = createHostLog(dataDir)
  watchProcess(log)
  const host = await openHost({
    kind: 'headless',
    version: manifest.version,
    dataDir,
    ...(agents === undefined ? {} : { agents }),
    log,
    launcher: createChildLauncher(built('./agent.js'), log),
    programs: {
      storageWorker: built('./storage-worker.js'),
      modelServer: built('./model-server.js'),
      resources: built('../../resources'),
    },
  })
  let told: (tickets: readonly TicketKey[]) => void = () => undefined
  const quitting = createQuitting({
    host: hostDrain(host.router, systemIds),
    clock: systemClock,
    log,
    onHolding: (holding) => told(holding.map(({ ticket }) => ticket)),
  })
  return {
    info: host.info,
    socket: host.socket,
    failed: host.failed,
    leave: quitting.leave,
    onHolding: (listener) => {
      told = listener
    },
    close: host.close,
    kill: host.kill,
  }
}

export const examineMachine: HeadlessHostModule['examineMachine'] = ({ dataDir }) => {
  const launcher = createChildLauncher(built('./agent.js'), silent)
  return examine({ dataDir, version: manifest.version, launcher })
}

/** Who looks at a machine leaves nothing in its data folder, the log neither. */
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

let isWatched = false

/** What nobody expected is in the log, whether the process goes on after it or not. */
function watchProcess(log: Log): void {
  if (isWatched) return
  isWatched = true
  process.on('uncaughtExceptionMonitor', (error) => log.error('the host failed', { error }))
  process.on('unhandledRejection', (error) => log.error('a failure was seen by nobody', { error }))
}
