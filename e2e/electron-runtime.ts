import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The clone under test. */
export const ROOT = resolve(import.meta.dirname, '..')

/** What the set-up wrote into the runtime's folder. */
export interface ElectronRuntime {
  kind: 'official' | 'fallback'
  /** Electron's version. */
  electron: string
  /** Full path of the program. */
  path: string
}

/**
 * The Electron runtime that the set-up provided.
 * @throws Error where there is none: run `npm run setup`
 */
export function electronRuntime(): ElectronRuntime {
  const folder = join(ROOT, '.runtime', 'electron')
  const stamp: unknown = readStamp(join(folder, 'ballet-runtime.json'))
  if (
    typeof stamp === 'object' &&
    stamp !== null &&
    'kind' in stamp &&
    (stamp.kind === 'official' || stamp.kind === 'fallback') &&
    'electron' in stamp &&
    typeof stamp.electron === 'string' &&
    'executable' in stamp &&
    typeof stamp.executable === 'string'
  ) {
    return { kind: stamp.kind, electron: stamp.electron, path: join(folder, stamp.executable) }
  }
  throw new Error(`No Electron runtime in ${folder}. Run npm run setup.`)
}

/** Full path of the Electron program, for `_electron.launch({ executablePath })`. */
export const electronExecutable = (): string => electronRuntime().path

/**
 * The arguments that Electron needs before those of the application. Chromium's sandbox refuses to
 * run as root, as tests in containers often do; elsewhere it stays on.
 */
export const electronArguments = (): string[] =>
  process.platform === 'linux' && process.getuid?.() === 0 ? ['--no-sandbox', ROOT] : [ROOT]

function readStamp(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
