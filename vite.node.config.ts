import { builtinModules } from 'node:module'
import { defineConfig } from 'vite'
import { NODE_PROGRAMS } from './scripts/ground/entries.mjs'

// Electron stays an import, so that the check of the built bundles can see it and refuse; the others load files of
// their own. Everything else is bundled: a program then starts in two thirds of the time and a quarter less memory.
const packages = ['electron', 'better-sqlite3', 'pino']
const isBuiltin = (id: string) => id.startsWith('node:') || builtinModules.includes(id)
const isPackage = (id: string) => packages.some((name) => id === name || id.startsWith(`${name}/`))

/** The programs that run in plain Node as well as inside Electron: out/node/<name>.js. */
export default defineConfig({
  ssr: { noExternal: true },
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'out/node',
    emptyOutDir: true,
    minify: false,
    sourcemap: true,
    rollupOptions: {
      input: NODE_PROGRAMS,
      external: (id) => isBuiltin(id) || isPackage(id),
      output: {
        format: 'es',
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name]-[hash].js',
      },
    },
  },
})
