import { _electron, type ElectronApplication, type Page } from '@playwright/test'
import { electronArguments, electronExecutable } from '../electron-runtime.ts'
import { type BalletClient, type BalletConnection, connectTo } from './ballet-client.ts'
import { waitFor } from './wait-for.ts'

/** The built application with its first window. */
export type DesktopApp = {
  readonly app: ElectronApplication
  readonly window: Page
  /** Of the main process. */
  readonly pid: number
  /** A client beside the window; rejects where no host runs. */
  client(): Promise<BalletClient>
  /** `kill -9` of the main process; resolves when it is gone. */
  kill(): Promise<void>
  /** Ends it as a person would: every session is parked first, a working one at the end of its turn or its grace. */
  quit(): Promise<void>
  /** Ends it as a system that goes down: all is kept within seconds. */
  end(): Promise<void>
  isRunning(): boolean
}

export type DesktopOptions = {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

/** What a window needs of the machine's own environment. */
const DISPLAY_NAMES = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY']
/** The notifications of a test are nothing for the person at this machine; a test may have a bus of its own. */
const NO_BUS = { DBUS_SESSION_BUS_ADDRESS: 'disabled:' }

/** The environment and the arguments with which the application is started, by whatever means. */
export function desktopCommand(options: DesktopOptions): {
  executablePath: string
  args: string[]
  env: Record<string, string>
} {
  const display = DISPLAY_NAMES.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    executablePath: electronExecutable(),
    args: [...electronArguments(), '--data', options.dataDir, ...(options.args ?? [])],
    env: { ...NO_BUS, ...options.env, ...Object.fromEntries(display) },
  }
}

export async function startDesktop(options: DesktopOptions): Promise<DesktopApp> {
  const app = await _electron.launch({ ...desktopCommand(options), timeout: 60_000 })
  const main = app.process()
  const window = await app.firstWindow()
  let connection: Promise<BalletConnection> | undefined
  const isRunning = () => main.exitCode === null && main.signalCode === null
  const exited = new Promise<void>((resolve) => {
    if (!isRunning()) resolve()
    main.once('exit', () => resolve())
  })
  const disconnect = async () => {
    const open = await connection?.catch(() => undefined)
    open?.close()
  }
  return {
    app,
    window,
    pid: main.pid ?? -1,
    client: async () => {
      // The window may be there before the host serves its socket.
      connection ??= waitFor('the host to serve', () => connectTo(options.dataDir))
      return (await connection).client
    },
    kill: async () => {
      main.kill('SIGKILL')
      await exited
      await disconnect()
    },
    quit: async () => {
      await disconnect()
      await app.close()
      await exited
    },
    end: async () => {
      await disconnect()
      main.kill('SIGTERM')
      await exited
    },
    isRunning,
  }
}
