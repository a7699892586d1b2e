import react from '@vitejs/plugin-react'
import { defineConfig } from 'electron-vite'

// Named by hand: electron-vite would take them from the installed `electron` package, which may be
// newer than the runtime that runs here (see docs/decisions on the Electron runtime).
const NODE_TARGET = 'node20'
const WINDOW_TARGET = 'chrome130'

export default defineConfig({
  main: {
    build: {
      // Bundled for the same reason as in vite.node.config.ts.
      externalizeDeps: {
        exclude: [
          ...['@orpc/client', '@orpc/contract', '@orpc/server', 'uuid', 'ws', 'zod'],
          '@jellybrick/dbus-next',
        ],
      },
      target: NODE_TARGET,
      outDir: 'out/main',
      minify: false,
      sourcemap: true,
      rollupOptions: {
        input: { index: 'src-main/index.ts' },
        output: {
          format: 'es',
          entryFileNames: '[name].js',
          chunkFileNames: 'chunks/[name]-[hash].js',
        },
      },
    },
  },
  preload: {
    build: {
      target: NODE_TARGET,
      outDir: 'out/preload',
      minify: false,
      sourcemap: true,
      // A sandboxed preload can load nothing but `electron`: everything else is bundled into it.
      externalizeDeps: false,
      rollupOptions: {
        input: { index: 'src-main/preload.ts' },
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  },
  renderer: {
    root: 'src-renderer',
    plugins: [react()],
    // So that the worker that colours code loads each language by itself.
    worker: { format: 'es' },
    build: {
      target: WINDOW_TARGET,
      outDir: 'out/renderer',
      // What is parsed at each start; the source maps beside it name the sources.
      minify: true,
      sourcemap: true,
      rollupOptions: { input: { index: 'src-renderer/index.html' } },
    },
  },
})
