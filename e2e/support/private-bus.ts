import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startProgram } from './program.ts'
import { waitFor } from './wait-for.ts'

/** A session bus of a test's own: nothing of the machine's desktop is on it, and nothing is started by it. */
export type PrivateBus = {
  /** For DBUS_SESSION_BUS_ADDRESS. */
  readonly address: string
  /** Everybody on it loses the connection. */
  close(): Promise<void>
}

const PROGRAM = '/usr/bin/dbus-daemon'

export const hasBus = (): boolean => process.platform === 'linux' && existsSync(PROGRAM)

/** In `folder`, whose path must be short, since a socket's is. */
export async function startPrivateBus(
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<PrivateBus> {
  const socket = join(folder, 'bus')
  const config = join(folder, 'bus.conf')
  await writeFile(
    config,
    `<busconfig>
  <type>session</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`,
  )
  const daemon = startProgram(PROGRAM, [`--config-file=${config}`, '--nofork', '--nopidfile'], {
    env,
  })
  await waitFor('the bus to listen', () => existsSync(socket), { state: daemon.stderr })
  return {
    address: `unix:path=${socket}`,
    close: async () => {
      daemon.child.kill('SIGKILL')
      await daemon.exited
    },
  }
}
