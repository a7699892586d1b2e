/** The programs that run in plain Node as well as beside Electron: name in out/node, and source. */
export const NODE_PROGRAMS = {
  agent: 'src-agent/entry.ts',
  'storage-worker': 'src-core/storage/sqlite/worker.ts',
  server: 'src-server/index.ts',
  cli: 'src-cli/index.ts',
  'model-server': 'e2e/model/main.ts',
}

/** Everything that a build makes, and the source that each is made of. */
export const ENTRIES = {
  'main/index.js': 'src-main/index.ts',
  'preload/index.cjs': 'src-main/preload.ts',
  'renderer/index.html': 'src-renderer/index.html',
  ...Object.fromEntries(
    Object.entries(NODE_PROGRAMS).map(([name, source]) => [`node/${name}.js`, source]),
  ),
}
