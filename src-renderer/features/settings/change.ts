import type { Refusal } from '../../../src-shared/refusal.ts'
import type { SettingsChange, Theme } from '../../../src-shared/settings.ts'
import { setTheme } from '../../stores/theme.ts'
import type { Client } from '../../sync/client.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'

/** Gives a change to the host; what comes back is why it was not taken. */
export async function changeSettings(
  client: Client,
  change: SettingsChange,
): Promise<Refusal | null> {
  const outcome = await attempt(() => client.settings.edit({ ...change, commandId: newCommand() }))
  return outcome.ok ? null : outcome.refusal
}

/** Shown at once, and kept by the host for every window of this data folder. */
export function chooseTheme(client: Client, theme: Theme): Promise<Refusal | null> {
  setTheme(theme)
  return changeSettings(client, { theme })
}
