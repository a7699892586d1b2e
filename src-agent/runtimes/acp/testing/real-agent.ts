import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Scene } from '../../claude-code/testing/real-runtime.ts'
import type { DriverSpec } from '../../driver.ts'

/** The opencode that the tests' own set-up installs. */
export const OPENCODE = join(
  fileURLToPath(new URL('../../../../e2e/runtimes/node_modules/.bin', import.meta.url)),
  'opencode',
)

/** A session of the real opencode with the scripted model, in folders of its own. */
export async function openCodeSpec(scene: Scene, url: string): Promise<DriverSpec> {
  const folder = (name: string) => join(scene.root, name)
  await mkdir(join(folder('xdg-config'), 'opencode'), { recursive: true })
  const provider = {
    npm: '@ai-sdk/anthropic',
    name: 'Scripted',
    options: { baseURL: `${url}/v1`, apiKey: '{env:ANTHROPIC_API_KEY}' },
    models: {
      m1: {
        name: 'M1',
        tool_call: true,
        limit: { context: 200_000, output: 8_192 },
        cost: { input: 3, output: 15 },
      },
    },
  }
  const config = {
    ...{ autoupdate: false, share: 'disabled', lsp: false, formatter: false },
    enabled_providers: ['scripted'],
    ...{ model: 'scripted/m1', small_model: 'scripted/m1' },
    provider: { scripted: provider },
  }
  await writeFile(join(folder('xdg-config'), 'opencode', 'opencode.json'), JSON.stringify(config))
  return {
    ...scene.spec,
    executable: OPENCODE,
    model: 'scripted/m1',
    env: {
      PATH: scene.spec.env.PATH ?? '',
      HOME: folder('home'),
      XDG_CONFIG_HOME: folder('xdg-config'),
      XDG_DATA_HOME: folder('xdg-data'),
      XDG_CACHE_HOME: folder('xdg-cache'),
      XDG_STATE_HOME: folder('xdg-state'),
      ANTHROPIC_API_KEY: 'scripted-key-4711',
    },
  }
}
