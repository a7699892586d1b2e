import type { NotificationReport } from '../../src-shared/window-bridge.ts'
import type { Notice } from './notice.ts'

/** Shows notifications, by the means of one system. */
export type Presenter = {
  /** Whether and how, right now. */
  report(): NotificationReport
  /** Only while the report says `ready`; the one before of the same key gives way. */
  show(notice: Notice): void
  /** Nothing happens when it is not shown. */
  close(key: string): void
  /** Closes what is shown, within a limit, and ends everything. Never rejects. */
  end(): Promise<void>
}

/** What a presenter tells. */
export type Told = {
  onButton(key: string, name: string): void
  /** Free text for the notice's question. */
  onReply(key: string, text: string): void
  /** The notification itself was clicked. */
  onClick(key: string): void
  /** A person or the system put it away. */
  onPutAway(key: string): void
  /** All that was shown is gone; the report says how it goes on. */
  onLost(): void
  /** The report is another one. */
  onReport(): void
}
