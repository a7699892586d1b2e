import { fileURLToPath } from 'node:url'

const built = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Where the build put what the main process starts and serves; seen from `out/main/index.js`. */
export const BUILT = {
  agent: built('../node/agent.js'),
  storageWorker: built('../node/storage-worker.js'),
  modelServer: built('../node/model-server.js'),
  preload: built('../preload/index.cjs'),
  window: built('../renderer'),
  resources: built('../../resources'),
}
