import { app, type BrowserWindow, Menu, type MenuItemConstructorOptions } from 'electron'
import type { MenuCommand } from '../src-shared/window-bridge.ts'
import { MENU } from './channels.ts'

/** The application's menu: the system's usual entries, and Ballet's own, which the window carries out. */
export function setMenu(window: () => BrowserWindow | undefined, showFolder: () => void): void {
  const own = (
    label: string,
    command: MenuCommand,
    accelerator?: string,
  ): MenuItemConstructorOptions => ({
    label,
    // Only shown: the window listens to the keys itself, and they must not act twice.
    ...(accelerator === undefined ? {} : { accelerator, registerAccelerator: false }),
    click: () => window()?.webContents.send(MENU, command),
  })
  const isMac = process.platform === 'darwin'
  Menu.setApplicationMenu(
    Menu.buildFromTemplate([
      ...(isMac ? [{ role: 'appMenu' } as const] : []),
      {
        label: '&File',
        submenu: [
          own('New &Ticket', 'ticket.new', 'CmdOrCtrl+N'),
          own('New &Project', 'project.new', 'CmdOrCtrl+Shift+N'),
          own('&Edit the Ticket', 'ticket.edit', 'CmdOrCtrl+E'),
          own('I&mport a Session…', 'session.import'),
          { type: 'separator' },
          own('&Settings', 'settings.open', 'CmdOrCtrl+,'),
          { type: 'separator' },
          own('Run the &Demo', 'demo.run'),
          { label: 'Show the Data &Folder', click: showFolder },
          { type: 'separator' },
          isMac ? { role: 'close' } : { role: 'quit' },
        ],
      },
      { role: 'editMenu' },
      {
        label: '&View',
        submenu: [
          own('Command &Palette', 'palette.open', 'CmdOrCtrl+K'),
          own('&Inbox', 'inbox.open', 'CmdOrCtrl+B'),
          own('&Fleet', 'fleet.open', 'CmdOrCtrl+Shift+F'),
          { type: 'separator' },
          { role: 'reload' },
          { role: 'toggleDevTools' },
          { type: 'separator' },
          { role: 'resetZoom' },
          { role: 'zoomIn' },
          { role: 'zoomOut' },
          { role: 'togglefullscreen' },
        ],
      },
      {
        label: '&Session',
        submenu: [
          own('&Start the Ticket', 'ticket.start'),
          own('&Interrupt', 'session.interrupt', 'CmdOrCtrl+.'),
          own('S&top', 'session.stop', 'CmdOrCtrl+Shift+S'),
          own('&Finish', 'session.finish', 'CmdOrCtrl+Shift+D'),
          { type: 'separator' },
          own('&Keep Online 1 h', 'session.keep', 'CmdOrCtrl+Shift+K'),
          own('&Park Now', 'session.park', 'CmdOrCtrl+Shift+P'),
          own('&Resume', 'session.resume', 'CmdOrCtrl+Shift+G'),
          { type: 'separator' },
          own('&Continue with…', 'session.continue', 'CmdOrCtrl+Shift+E'),
          own('E&xport…', 'session.export'),
        ],
      },
      { role: 'windowMenu' },
      {
        role: 'help',
        submenu: [
          own('&Check this Machine', 'doctor.open'),
          ...(isMac ? [] : [{ label: '&About Ballet', click: () => app.showAboutPanel() }]),
        ],
      },
    ]),
  )
}
