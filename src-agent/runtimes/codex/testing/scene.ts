import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PermissionMode } from '../../../../src-shared/records.ts'
import { Scene } from '../../claude-code/testing/real-runtime.ts'

/** The Codex that the tests' set-up installs, or the one that BALLET_TEST_CODEX names. */
const CODEX =
  process.env.BALLET_TEST_CODEX ??
  join(
    fileURLToPath(new URL('../../../../e2e/runtimes', import.meta.url)),
    ...['node_modules', '.bin', 'codex'],
  )

/** Folders and environment of one session of Codex, with the scripted model as its provider. */
export async function makeScene(
  url: string,
  permission: PermissionMode = 'full',
): Promise<{ scene: Scene; home: string }> {
  const scene = await Scene.make(url)
  const home = join(scene.root, 'codex')
  await writeHome(home, url)
  Object.assign(scene.spec, {
    executable: CODEX,
    model: 'scripted',
    permission,
    env: environment(scene, home),
  })
  return { scene, home }
}

export function environment(scene: Scene, home: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: join(scene.root, 'home'),
    CODEX_HOME: home,
    SCRIPTED_API_KEY: 'scripted-key-4711',
  }
}

/** As a user would name a provider of their own. */
export async function writeHome(home: string, url: string): Promise<void> {
  await mkdir(home, { recursive: true })
  await writeFile(
    join(home, 'config.toml'),
    `model_provider = "scripted"

[model_providers.scripted]
name = "Scripted"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 1
stream_max_retries = 1
`,
  )
}
