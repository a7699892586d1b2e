import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const NAME = 'ballet-guard.js'
const DONE = 'guard.done'
const LOOK_EVERY_MS = 50

/**
 * A plugin that takes what only the server needs out of the environment that its tools and its own servers of MCP
 * inherit, and overwrites the password where the system shows a program's first environment (`/proc/<pid>/environ`).
 * The server itself has read it by then, and has tried the install that `npm_config_offline` keeps away. `offline` is
 * that variable as the person has it, for the agent's own npm; null where they have none. It writes a file when it is
 * done.
 */
const sourceFor = (offline: string | null) => `import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
const names = ['OPENCODE_SERVER_PASSWORD', 'OPENCODE_CONFIG']
const libraries = { linux: ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'], darwin: ['libSystem.B.dylib'] }
let wiped = false
try {
  const { dlopen } = await import('bun:ffi')
  for (const library of libraries[process.platform] ?? []) {
    try {
      const { symbols } = dlopen(library, {
        getenv: { args: ['cstring'], returns: 'ptr' },
        memset: { args: ['ptr', 'i32', 'usize'], returns: 'ptr' },
      })
      for (const name of names) {
        const at = symbols.getenv(Buffer.from(name + '\\0'))
        if (at) symbols.memset(at, 120, Buffer.byteLength(process.env[name] ?? ''))
      }
      wiped = true
      break
    } catch {}
  }
} catch {}
for (const name of names) delete process.env[name]
const offline = ${JSON.stringify(offline)}
if (offline === null) delete process.env.npm_config_offline
else process.env.npm_config_offline = offline
writeFileSync(fileURLToPath(new URL('${DONE}', import.meta.url)), wiped ? 'wiped' : 'removed')
export const BalletGuard = async () => ({})
`

/**
 * Writes the plugin and gives its address for the configuration. `env` is what the person's programs would have. What an
 * earlier server of the session did is forgotten.
 */
export async function writeGuard(
  scratchDir: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const path = join(scratchDir, NAME)
  await rm(join(scratchDir, DONE), { force: true })
  await writeFile(path, sourceFor(env.npm_config_offline ?? null), { mode: 0o600 })
  return new URL(`file://${path}`).href
}

/** What is enough: on Windows no program is shown the environment that another was started with. */
const ENOUGH = process.platform === 'win32' ? ['wiped', 'removed'] : ['wiped']

/** Whether the plugin has done all of its work, within the limit. */
export async function guardIsUp(scratchDir: string, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const done = await readFile(join(scratchDir, DONE), 'utf8').catch(() => '')
    if (ENOUGH.includes(done)) return true
    // It is written once.
    if (done !== '' || performance.now() > deadline) return false
    await sleep(LOOK_EVERY_MS)
  }
}
