import { existsSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { defineConfig } from 'vite'
import manifest from './package.json' with { type: 'json' }
import { NODE_PROGRAMS } from './scripts/ground/entries.mjs'

const packages = [...Object.keys(manifest.dependencies), 'electron']
const isBuiltin = (id: string) => id.startsWith('node:') || builtinModules.includes(id)
const isPackage = (id: string) => packages.some((name) => id === name || id.startsWith(`${name}/`))

/** The programs that run in plain Node as well as inside Electron: out/node/<name>.js. */
export default defineConfig({
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'out/node',
    emptyOutDir: true,
    minify: false,
    sourcemap: true,
    rollupOptions: {
      input: Object.fromEntries(
        Object.entries(NODE_PROGRAMS).filter(([, source]) => existsSync(source)),
      ),
      // Electron stays an import, so that the check of the built bundles can see it and refuse.
      external: (id) => isBuiltin(id) || isPackage(id),
      output: {
        format: 'es',
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name]-[hash].js',
      },
    },
  },
})
