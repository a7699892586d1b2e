/**
 * One end of a channel between two processes that carries structured values, in order, until it closes.
 * A utility process's port, a child process's IPC channel and a linked pair in tests implement it.
 */
export type Channel = {
  send(message: unknown): void
  /** At most one listener; messages that came before are given to it first. */
  onMessage(listener: (message: unknown) => void): void
  onClose(listener: () => void): void
  close(): void
}
