import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Builds the storage worker from its source, into a folder from which its packages are found. */
export async function buildStorageWorker(): Promise<{ file: string; remove(): void }> {
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const outDir = mkdtempSync(join(cache, 'storage-worker-'))
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: {
      ssr: 'src-core/storage/sqlite/worker.ts',
      target: 'node20',
      outDir,
      minify: false,
      rollupOptions: { external: ['better-sqlite3'], output: { entryFileNames: 'worker.mjs' } },
    },
  })
  return {
    file: join(outDir, 'worker.mjs'),
    remove: () => rmSync(outDir, { recursive: true, force: true }),
  }
}
