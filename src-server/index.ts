import { fileURLToPath } from 'node:url'
import manifest from '../package.json' with { type: 'json' }
import { createHostLog, openHost } from '../src-core/index.ts'
import type { HeadlessHostModule } from '../src-shared/headless-host.ts'
import { createChildLauncher } from './child-launcher.ts'

/** Where the build put the programs that a host starts: beside this one. */
const built = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

export const startHeadlessHost: HeadlessHostModule['startHeadlessHost'] = async ({
  dataDir,
  agents,
}) => {
  const log = createHostLog(dataDir)
  const host = await openHost({
    kind: 'headless',
    version: manifest.version,
    dataDir,
    ...(agents === undefined ? {} : { agents }),
    log,
    launcher: createChildLauncher(built('agent'), log),
    programs: { storageWorker: built('storage-worker'), modelServer: built('model-server') },
  })
  return host
}
