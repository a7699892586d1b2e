import type { HeadlessHostModule } from '../src-shared/headless-host.ts'
import type { Connection } from './connection.ts'

export type Terminal = {
  write(text: string): void
  /** Its width in cells; undefined when it is not a terminal, and nothing is cut then. */
  columns: number | undefined
  colour: boolean
}

/** Everything that the command line touches outside itself. */
export type World = {
  env: Readonly<Record<string, string | undefined>>
  platform: NodeJS.Platform
  home: string
  cwd: string
  version: string
  stdout: Terminal
  stderr: Terminal
  /** From now on a reader that stops reading (`| head`) does not end the process. */
  ignoreBrokenPipe(): void
  /** The whole standard input as text; refused above `limit` UTF-16 code units. */
  readStdin(limit: number): Promise<string>
  /** What is typed at the terminal, which does not show it; refused where there is no terminal. */
  askSecret(question: string): Promise<string>
  /** A whole file; a relative path is one of the working folder. Rejects with the system's error. */
  readFile(path: string): Promise<Uint8Array>
  connect(dataDir: string): Promise<Connection>
  loadHost(): Promise<HeadlessHostModule>
  /** A new folder of its own; `remove` deletes it with all that is in it. */
  temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }>
  /** Calls back at SIGINT and SIGTERM; the answer stops that. */
  onStop(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void
  /** Sends a signal to a process; 0 only looks whether it is there. Throws where it is not, or may not be told. */
  signal(pid: number, signal: 'SIGTERM' | 0): void
  /** Milliseconds that only grow. */
  monotonic(): number
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after `ms`, or as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  uuid(): string
}
