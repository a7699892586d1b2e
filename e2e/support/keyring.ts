import { existsSync } from 'node:fs'
import { Message, sessionBus } from '@jellybrick/dbus-next'
import { startProgram } from './program.ts'
import { waitFor } from './wait-for.ts'

/** The keychain of a desktop: the Secret Service on a bus, by the keyring of GNOME. */
export type Keyring = {
  /** Its process ends, and with it everything that was unlocked. */
  end(): Promise<void>
}

const PROGRAM = '/usr/bin/gnome-keyring-daemon'
const NAME = 'org.freedesktop.secrets'

export const hasKeyring = (): boolean => process.platform === 'linux' && existsSync(PROGRAM)

/** What makes Electron ask the keyring, as on the desktop of that name. */
export const KEYRING_DESKTOP = { XDG_CURRENT_DESKTOP: 'GNOME' }

/**
 * The keyring of this user, which lies below HOME. With a password it is open (and made with it where there is none);
 * without one it is locked, and there is nobody to be asked for it.
 */
export async function startKeyring(
  busAddress: string,
  env: Readonly<Record<string, string>>,
  password?: string,
): Promise<Keyring> {
  const args = ['--foreground', '--components=secrets']
  const daemon = startProgram(PROGRAM, password === undefined ? args : [...args, '--unlock'], {
    env: { ...env, DBUS_SESSION_BUS_ADDRESS: busAddress },
    ...(password === undefined ? {} : { input: password }),
  })
  const bus = sessionBus({ busAddress })
  try {
    await waitFor(
      'the keyring to be on the bus',
      async () => {
        const answer = await bus.call(
          new Message({
            destination: 'org.freedesktop.DBus',
            path: '/org/freedesktop/DBus',
            interface: 'org.freedesktop.DBus',
            member: 'NameHasOwner',
            signature: 's',
            body: [NAME],
          }),
        )
        return answer?.body[0] === true
      },
      { state: daemon.stderr },
    )
  } finally {
    bus.disconnect()
  }
  return {
    end: async () => {
      daemon.child.kill('SIGTERM')
      await daemon.exited
    },
  }
}
