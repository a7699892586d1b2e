import { join } from 'node:path'
import { app, dialog, nativeTheme } from 'electron'
import manifest from '../package.json' with { type: 'json' }
import { makeFolder } from '../src-core/index.ts'
import { readArguments, type StartArguments } from './arguments.ts'
import { runDesktop } from './desktop.ts'
import { claimScheme } from './own-pages.ts'

const APPLICATION_ID = 'io.github.ballet.desktop'
/** The folder of the system's application data that is Ballet's own; the command line looks there too. */
const OWN_FOLDER = 'ballet'

function begin(): void {
  let start: StartArguments
  let dataDir: string
  try {
    start = readArguments(process.argv, process.env, process.cwd())
    dataDir = start.dataDir ?? join(app.getPath('appData'), OWN_FOLDER)
    // Chromium's own files stay apart, and one running application for each data folder follows from it.
    const chromium = join(dataDir, 'chromium')
    makeFolder(chromium)
    app.setPath('userData', chromium)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    dialog.showErrorBox('Ballet cannot start', `The data folder cannot be used. ${reason}`)
    app.exit(1)
    return
  }

  app.setName('Ballet')
  app.setAppUserModelId(APPLICATION_ID)
  app.setAboutPanelOptions({
    applicationName: 'Ballet',
    applicationVersion: manifest.version,
    copyright: 'MIT licence',
    credits: 'Runs a fleet of coding agents.',
  })
  if (!app.requestSingleInstanceLock({ demo: start.demo })) {
    process.stdout.write(`Ballet already runs on ${dataDir}; its window is brought to the front.\n`)
    app.exit(0)
    return
  }
  // Who starts it without the sandbox, as root has to, means the whole application.
  if (!app.commandLine.hasSwitch('no-sandbox')) app.enableSandbox()
  claimScheme()
  nativeTheme.themeSource = 'system'
  runDesktop({ dataDir, version: manifest.version, demo: start.demo })
}

begin()
