import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../electron-runtime.ts'
import { startModelServer } from '../model/server.ts'
import { startDesktop } from '../support/desktop-app.ts'
import { makeRuntimes, testedRuntime, useRuntimes } from '../support/runtimes.ts'
import { withWorkbench } from '../support/workbench.ts'
import { createCamera } from './camera.ts'
import { book, files } from './sample.ts'
import {
  fillWorld,
  firstViews,
  inboxViews,
  muchView,
  pageViews,
  parkingViews,
  quitView,
  sessionViews,
} from './views.ts'

const HELP = `Usage: npm run screenshots -- [--into FOLDER]

Starts the built application on a fresh data folder, with the real Claude Code and a scripted model, brings it into each
of its views, and takes each at 1440×900 and 1024×700, light and dark.

  --into FOLDER  where they go (default: docs/screenshots)
`

const stages = [
  ...[firstViews, fillWorld, sessionViews, inboxViews],
  ...[pageViews, parkingViews, muchView, quitView],
]

/** Gives the exit code. */
export async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { into: { type: 'string' }, help: { type: 'boolean', default: false } },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const folder = values.into ?? join(ROOT, 'docs', 'screenshots')
  const model = await startModelServer({ book })
  try {
    await withWorkbench(async (bench) => {
      const shop = await bench.remote({ name: 'shop.git', files })
      const api = await bench.remote({ name: 'api.git', files })
      const codex = testedRuntime('codex')
      const runtimes = await makeRuntimes(bench, [codex])
      await useRuntimes(bench.dataDir, runtimes)
      const desktop = await startDesktop({
        dataDir: bench.dataDir,
        env: { ...bench.env, ...runtimes.env, ANTHROPIC_BASE_URL: model.url },
      })
      bench.atEnd(() => desktop.end())
      const { window } = desktop
      const client = await desktop.client()
      const camera = createCamera(window, folder, [
        [bench.dataDir, '/home/person/.config/ballet'],
        [bench.home, '/home/person'],
        [bench.folder, '/srv'],
        [dirname(codex.program), '/usr/local/bin'],
      ])
      const stage = { window, client, camera, shop: shop.path, api: api.path }
      for (const views of stages) {
        await views(stage).catch(async (error: unknown) => {
          await window
            .screenshot({ path: join(ROOT, 'test-results', 'screenshots-failed.png') })
            .catch(() => undefined)
          throw error
        })
      }
      for (const { path, bytes } of camera.taken) {
        process.stdout.write(`${relative(ROOT, path)}  ${Math.round(bytes / 1_000)} kB\n`)
      }
      const all = camera.taken.reduce((sum, { bytes }) => sum + bytes, 0)
      process.stdout.write(`${camera.taken.length} pictures, ${(all / 1e6).toFixed(1)} MB\n`)
    })
  } catch (error) {
    process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  } finally {
    await model.close()
  }
  return 0
}
