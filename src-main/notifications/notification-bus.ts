/** A call of a service on the session bus. */
export type BusCall = {
  destination: string
  path: string
  interface: string
  member: string
  signature?: string
  body?: unknown[]
}

export type BusSignal = {
  sender: string
  path: string
  interface: string
  member: string
  body: readonly unknown[]
}

/** A connection to the session bus; what it is told to match arrives as signals. */
export type Bus = {
  /** Rejects with what the service or the bus said, also when there is no answer within the limit. */
  call(call: BusCall): Promise<readonly unknown[]>
  /** A value of a type that its bearer chooses, such as one of the hints of a notification. */
  variant(signature: string, value: unknown): unknown
  close(): void
}

export type BusListener = {
  onSignal(signal: BusSignal): void
  /** Told once, also when it is closed by the other side; every call rejects from then on. */
  onLost(error: Error): void
}

/** Rejects when there is no bus, or it does not answer within the limit. */
export type OpenBus = (listener: BusListener) => Promise<Bus>

/** The bus itself, which is a service too. */
export const BUS = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const
