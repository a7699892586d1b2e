import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const NAME = 'ballet-guard.js'
const DONE = 'guard.done'
const LOOK_EVERY_MS = 50

/**
 * A plugin that takes what only the server needs out of the environment that its tools and its own servers of MCP
 * inherit, and overwrites the password where the system shows a program's first environment (`/proc/<pid>/environ`).
 * The server itself has read it by then. It writes a file when it is done.
 */
const SOURCE = `import { writeFileSync } from 'node:fs'
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
writeFileSync(fileURLToPath(new URL('${DONE}', import.meta.url)), wiped ? 'wiped' : 'removed')
export const BalletGuard = async () => ({})
`

/** Writes the plugin and gives its address for the configuration. What an earlier server of the session did is forgotten. */
export async function writeGuard(scratchDir: string): Promise<string> {
  const path = join(scratchDir, NAME)
  await rm(join(scratchDir, DONE), { force: true })
  await writeFile(path, SOURCE, { mode: 0o600 })
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
