import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

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
writeFileSync(fileURLToPath(new URL('guard.done', import.meta.url)), wiped ? 'wiped' : 'removed')
export const BalletGuard = async () => ({})
`

const NAME = 'ballet-guard.js'
const LOOK_EVERY_MS = 50

/** Writes the plugin and gives its address for the configuration. */
export async function writeGuard(scratchDir: string): Promise<string> {
  const path = join(scratchDir, NAME)
  await writeFile(path, SOURCE, { mode: 0o600 })
  return new URL(`file://${path}`).href
}

/** Whether the plugin has done its work, within the limit. */
export async function guardIsUp(scratchDir: string, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const isThere = await access(join(scratchDir, 'guard.done')).then(
      () => true,
      () => false,
    )
    if (isThere || performance.now() > deadline) return isThere
    await sleep(LOOK_EVERY_MS)
  }
}
