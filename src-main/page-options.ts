import type { BrowserWindowConstructorOptions } from 'electron'
import { WINDOW_ARGUMENT, type WindowFacts } from './channels.ts'

// As the window's own background, so that nothing flashes before its first paint.
const BACKGROUND = { light: '#ffffff', dark: '#0f1115' }

/** What every window with a page of ours has: no Node, nothing of the pages' own choice. */
export function pageOptions(
  preload: string,
  facts: WindowFacts,
  isDark: boolean,
): Pick<BrowserWindowConstructorOptions, 'backgroundColor' | 'webPreferences'> {
  return {
    backgroundColor: isDark ? BACKGROUND.dark : BACKGROUND.light,
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webviewTag: false,
      spellcheck: false,
      additionalArguments: [`${WINDOW_ARGUMENT}${JSON.stringify(facts)}`],
    },
  }
}
