import { createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { connectTo } from '../../support/ballet-client.ts'
import { requestsOf, timesSaid } from '../../support/conversation.ts'
import { desktopCommand } from '../../support/desktop-app.ts'
import { doInMain, readInMain } from '../../support/main-process.ts'
import { startProgram } from '../../support/program.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForDelivered,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

test('the command line talks to the running application', async ({ bench }) => {
  const { window } = await bench.desktop()
  const remote = await bench.remote()
  const ballet = (...args: string[]) => bench.ballet(...args, '--data', bench.dataDir, '--json')
  await waitFor('the host to serve', () => connectTo(bench.dataDir)).then((host) => host.close())
  expect((await ballet('project', 'add', '--name', 'Shop', '--repo', remote.path)).code).toBe(0)
  const body = script(say('Said to the command line.'))
  const added = await ballet(
    ...['ticket', 'add', '--project', 'Shop', '--title', 'From the terminal'],
    ...['--body', body, '--start'],
  )
  expect(added.code).toBe(0)
  const item = window.getByRole('treeitem', { name: /From the terminal/u })
  await item.click()
  await expect(timelineRegion(window).getByText('Said to the command line.')).toBeVisible({
    timeout: 20_000,
  })
  const doctor = await ballet('doctor')
  expect(doctor).toMatchObject({ code: 0, rows: [{ host: { kind: 'desktop', agents: 3 } }] })
  expect((await ballet('agents')).rows).toHaveLength(3)
  const serve = await ballet('serve')
  expect(serve).toMatchObject({ code: 1, error: { code: 'host.running' } })
})

test('a second start brings the first to the front and ends', async ({ bench }) => {
  const { app, window } = await bench.desktop()
  await expect(window.getByRole('region', { name: 'Fleet' })).toBeVisible()
  await doInMain(app, ({ BrowserWindow }) => {
    const [first] = BrowserWindow.getAllWindows()
    Object.assign(globalThis, { shown: 0 })
    first?.on('focus', () => Object.assign(globalThis, { shown: 1 }))
    first?.on('show', () => Object.assign(globalThis, { shown: 1 }))
    first?.hide()
  })
  const { executablePath, args, env } = desktopCommand({ dataDir: bench.dataDir, env: bench.env })
  const second = startProgram(executablePath, args, { env, limitMs: 20_000 })
  expect(await second.exited).toBe(0)
  await waitFor('the first window to be shown', () =>
    readInMain(app, ({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible() === true),
  )
  expect(app.windows()).toHaveLength(1)
  await expect(window.getByRole('region', { name: 'Fleet' })).toBeVisible()
})

test('kill -9 of the application loses nothing: the next start goes on in the conversation', async ({
  bench,
}) => {
  const first = await bench.desktop()
  const client = await first.client()
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(bash('echo first-output', 'I begin.'), bash('sleep 309'), say('Never.'))}`,
  })
  await bench.process('sleep 309')
  await waitFor(
    'both calls in the timeline',
    async () => ofKind(await timelineOf(client, session.id), 'tool.call').length === 2,
  )
  await waitForDelivered(client, session.id, 1)
  const before = await timelineOf(client, session.id)
  await first.kill()

  const second = await bench.desktop()
  const again = await second.client()
  const cut = await waitForState(again, session.id, 'waiting')
  const events = await timelineOf(again, session.id)
  checkTimeline(events, cut)
  expect(events.slice(0, before.length)).toEqual(before)
  expect((await bench.processes()).map(({ command }) => command)).not.toContain('sleep 309')
  await second.window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
  const composer = second.window.getByRole('form', { name: 'Message' })
  await composer.getByRole('textbox').fill(`Next-word. ${script(say('I go on.'))}`)
  await composer.getByRole('textbox').press('Enter')
  await waitForTurnEnd(again, session.id, 2)
  await expect(timelineRegion(second.window).getByText('I go on.', { exact: true })).toBeVisible()
  const after = await again.sessions.show({ ref: session.id })
  checkTimeline(await timelineOf(again, session.id), after)
  expect(after.conversation).toBe(cut.conversation)
  const last = requestsOf(bench.model, after.conversation).at(-1)
  expect(timesSaid(last, 'Ticket-word.')).toBe(1)
  expect(timesSaid(last, 'Next-word.')).toBe(1)
})

test('an orderly end leaves nothing running', async ({ bench }) => {
  const desktop = await bench.desktop()
  const client = await desktop.client()
  await addProject(client, (await bench.remote()).path)
  await startTicket(client, { body: script(bash('sleep 310'), say('Never.')) })
  await bench.process('sleep 310')
  await client.settings.edit({ drainGraceSeconds: 1 })
  await desktop.quit()
  await waitFor('everything to be gone', async () => (await bench.processes()).length === 0)
})

test('a damaged database is shown in the window and left byte for byte', async ({ bench }) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  await host.stop()
  const path = join(bench.dataDir, 'ballet.sqlite')
  const file = await open(path, 'r+')
  await file.write('this is no database, it is a letter', 0)
  await file.close()
  const sum = async () =>
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
  const before = await sum()
  const { window } = await bench.desktop()
  const alert = window.getByRole('alert')
  await expect(alert).toContainText(path)
  await expect(alert).toContainText('storage.corrupt')
  await expect(alert.getByRole('link', { name: 'Try again' })).toBeVisible()
  // The policy of the page lets its one style pass.
  await expect(window.locator('body')).toHaveCSS('display', 'grid')
  expect(await sum()).toBe(before)
})

test('a folder that a headless host has is named in the window, and opens when it is free', async ({
  bench,
}) => {
  const host = await bench.host()
  const { window } = await bench.desktop()
  await expect(window.getByRole('alert')).toContainText('host.running')
  await host.stop()
  await window.getByRole('link', { name: 'Try again' }).click()
  await expect(window.getByRole('region', { name: 'Fleet' })).toBeVisible({ timeout: 20_000 })
})
