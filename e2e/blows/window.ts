import type { Session } from '../../src-shared/records.ts'
import { readInMain } from '../support/main-process.ts'
import { waitFor } from '../support/wait-for.ts'
import type { Life } from './host-under-blows.ts'

/** Opens the newest session in the window, if there is one, and looks whether it shows all of it. */
export async function windowFaults(life: Life, sessions: readonly Session[]): Promise<string[]> {
  const app = life.app?.app
  const session = sessions.at(-1)
  if (app === undefined || session === undefined) return []
  // Not through the page: to Playwright, a page whose process was killed stays crashed.
  const look = (key: string) =>
    readInMain(
      app,
      ({ BrowserWindow }, wanted: string) =>
        BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript(`(() => {
          const item = [...document.querySelectorAll('[role=treeitem]')]
            .find((each) => each.textContent.includes(${JSON.stringify(wanted)}))
          item?.click()
          const timeline = document.querySelector('[aria-label=Timeline][data-session]')
          return { session: timeline?.dataset.session ?? '', last: Number(timeline?.dataset.last ?? -1) }
        })()`),
      key,
    )
  let seen: unknown
  try {
    await waitFor(
      'the window to show the session',
      async () => {
        const shown = await look(session.ticket)
        seen = shown
        return shown?.session === session.id && shown.last >= session.lastSeq
      },
      { timeoutMs: 20_000, everyMs: 100 },
    )
    return []
  } catch (error) {
    return [
      `the window does not show ${session.ticket}: ${JSON.stringify(seen)} (${String(error)})`,
    ]
  }
}
