import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Scene } from '../../claude-code/testing/real-runtime.ts'
import type { DriverSpec } from '../../driver.ts'

/** The tests' set-up installs it there. */
const RUNTIMES = fileURLToPath(new URL('../../../../e2e/runtimes/', import.meta.url))
export const OPENCODE = join(RUNTIMES, 'node_modules', '.bin', 'opencode')

const MODEL = 'claude-sonnet-5-5'

/** A person's own folders, with a provider whose key is in their configuration only. */
export async function makeScene(url: string): Promise<{ scene: Scene; spec: DriverSpec }> {
  const scene = await Scene.make(url)
  const at = (name: string) => join(scene.root, name)
  await mkdir(join(at('config'), 'opencode'), { recursive: true })
  await writeFile(
    join(at('config'), 'opencode', 'opencode.json'),
    JSON.stringify({
      enabled_providers: ['scripted'],
      model: `scripted/${MODEL}`,
      small_model: `scripted/${MODEL}`,
      provider: {
        scripted: {
          npm: '@ai-sdk/anthropic',
          name: 'Scripted',
          options: { baseURL: `${url}/v1`, apiKey: 'key-of-the-configuration' },
          models: {
            [MODEL]: {
              name: 'Scripted model',
              tool_call: true,
              reasoning: true,
              attachment: true,
              modalities: { input: ['text', 'image'], output: ['text'] },
              limit: { context: 200_000, output: 8_192 },
              cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
            },
          },
        },
      },
    }),
  )
  const spec: DriverSpec = {
    ...scene.spec,
    executable: OPENCODE,
    model: null,
    env: {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      HOME: at('home'),
      XDG_CONFIG_HOME: at('config'),
      XDG_DATA_HOME: at('data'),
      XDG_CACHE_HOME: at('cache'),
      XDG_STATE_HOME: at('state'),
    },
  }
  return { scene, spec }
}
