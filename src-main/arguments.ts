import { resolve } from 'node:path'

export type StartArguments = {
  /** Absolute; undefined for the application's own data folder. */
  dataDir: string | undefined
  demo: boolean
}

/**
 * What of a command line is the application's own: `--data DIR`, `--data=DIR`, `--demo`. Electron's and Chromium's
 * switches and the folder of the application stand among them and are passed over.
 * @throws Error when `--data` names nothing
 */
export function readArguments(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): StartArguments {
  let dataDir = env.BALLET_DATA || undefined
  let demo = false
  for (let at = 0; at < argv.length; at += 1) {
    const text = argv[at] ?? ''
    if (text === '--demo') demo = true
    if (text !== '--data' && !text.startsWith('--data=')) continue
    dataDir = text === '--data' ? argv[at + 1] : text.slice('--data='.length)
    if (dataDir === undefined || dataDir === '' || dataDir.startsWith('--')) {
      throw new Error('--data needs a folder: --data DIR')
    }
  }
  return { dataDir: dataDir === undefined ? undefined : resolve(cwd, dataDir), demo }
}
