import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { ask } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, timesSaid } from '../../support/conversation.ts'
import type { DesktopApp } from '../../support/desktop-app.ts'
import { doInMain, readInMain } from '../../support/main-process.ts'
import {
  type NotificationDaemon,
  type ShownNotification,
  startNotificationDaemon,
} from '../../support/notification-daemon.ts'
import { hasBus, type PrivateBus, startPrivateBus } from '../../support/private-bus.ts'
import { bash, say, script } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import { addProject, startTicket, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { runByName, timelineRegion } from '../../support/window.ts'
import { test, type Workbench } from '../../support/workbench.ts'

test.skip(!hasBus(), 'needs Linux and dbus-daemon')

const LIMITER = {
  question: 'Which <b>limiter</b>\u202e & why?',
  options: [{ label: 'Sliding window', recommended: true }, { label: 'Token bucket' }],
}
const PLAIN = { ...LIMITER, question: 'Which limiter?' }

type Running = { desktop: DesktopApp; client: BalletClient; bus: PrivateBus }

async function start(bench: Workbench): Promise<Running> {
  const folder = bench.path('b')
  await mkdir(folder)
  const bus = await startPrivateBus(folder, bench.env)
  bench.atEnd(() => bus.close())
  const desktop = await bench.desktop({ env: { DBUS_SESSION_BUS_ADDRESS: bus.address } })
  const client = await desktop.client()
  await addProject(client, (await bench.remote()).path, { planner: false, permission: 'ask' })
  return { desktop, client, bus }
}

async function asks(client: BalletClient, ...questions: Parameters<typeof ask>) {
  const { session } = await startTicket(client, {
    body: script(ask(...questions), say('I asked.')),
  })
  await waitForTurnEnd(client, session.id, 1)
  return session
}

/** From then on nothing shows the main window by itself. */
const isPainted = ({ app }: DesktopApp) =>
  waitFor('the window to be shown', () =>
    readInMain(app, ({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible()),
  )

const isQuestion = ({ title }: ShownNotification) => title.includes(' asks · ')

const checkPage = async ({ window }: DesktopApp) => {
  await runByName(window, 'Check this machine')
  return window.getByRole('row', { name: /^Notifications/u })
}

test('a button of a notification answers the question without the main window', async ({
  bench,
}) => {
  const { desktop, client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  await isPainted(desktop)
  await doInMain(desktop.app, ({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.minimize())
  const session = await asks(client, PLAIN)
  const shown = await daemon.waitFor('the question', isQuestion)
  expect(shown).toMatchObject({ app: 'Ballet', body: 'Which limiter?', expiresMs: 0 })
  expect(shown.actions.map(({ label }) => label)).toEqual([
    ...['Answer', 'Sliding window (recommended)', 'Token bucket', 'Reply'],
  ])
  // It acts once, however often it is pressed.
  daemon.press(shown.id, 'Token bucket', 3)
  await waitForTurnEnd(client, session.id, 2)
  const [question] = await client.questions.list({ session: session.id })
  expect(question).toMatchObject({
    state: 'answered',
    answer: { text: 'Token bucket', options: [2], author: 'person', declined: false },
  })
  const { conversation } = await client.sessions.show({ ref: session.id })
  const last = requestsOf(bench.model, conversation).at(-1)
  expect(timesSaid(last, 'Answer: Token bucket')).toBe(1)
  const inputs = await client.sessions.inputs({ ref: session.id })
  expect(inputs.map(({ inputKind }) => inputKind)).toEqual(['message', 'answer'])
  expect(daemon.history).toHaveLength(1)
})

test('a reply is an answer in one’s own words', async ({ bench }) => {
  const { client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  const session = await asks(client, PLAIN)
  const shown = await daemon.waitFor('the question', isQuestion)
  daemon.reply(shown.id, 'Neither: the gateway does it.')
  await waitForTurnEnd(client, session.id, 2)
  const [question] = await client.questions.list({ session: session.id })
  expect(question?.answer).toMatchObject({ text: 'Neither: the gateway does it.', options: [] })
})

test('what is answered elsewhere is taken back, and markup is text', async ({ bench }) => {
  const { client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  const session = await asks(client, LIMITER)
  const shown = await daemon.waitFor('the question', isQuestion)
  expect(shown.body).toContain('Which &lt;b&gt;limiter&lt;/b&gt; &amp; why?')
  // Something in it cannot be read: it is answered where all of it is seen.
  expect(shown.actions.map(({ label }) => label)).toEqual(['Answer'])
  const [question] = await client.questions.list({ session: session.id })
  await client.questions.answer({ ref: question?.id ?? '', options: [1] })
  await daemon.waitUntilGone(shown.id)
})

test('a click opens a small window that answers by keyboard, whatever the main window does', async ({
  bench,
}) => {
  const { desktop, client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  await isPainted(desktop)
  await doInMain(desktop.app, ({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.hide())
  const session = await asks(client, PLAIN, { question: 'And where?' })
  const first = await daemon.waitFor('the first', ({ body }) => body === 'Which limiter?')
  const second = await daemon.waitFor('the second', ({ body }) => body === 'And where?')

  const opens = desktop.app.waitForEvent('window')
  daemon.click(first.id)
  const window = await opens
  await expect(window.getByText('Which limiter?')).toBeVisible()
  // It is shown when it is painted.
  const facts = await waitFor('the small window to be shown', async () => {
    const all = await readInMain(desktop.app, ({ BrowserWindow }) =>
      BrowserWindow.getAllWindows().map((one) => ({
        visible: one.isVisible(),
        above: one.isAlwaysOnTop(),
        width: one.getSize()[0],
      })),
    )
    return all.some(({ visible, above }) => visible && above) && all
  })
  expect(facts).toContainEqual({ visible: true, above: true, width: 520 })
  expect(facts).toContainEqual(expect.objectContaining({ visible: false, above: false }))
  await window.keyboard.press('2')
  const closed = window.waitForEvent('close')
  await window.keyboard.press('Enter')
  await closed
  const answered = await waitFor('the answer', async () =>
    (await client.questions.list({ session: session.id })).find(
      ({ answer }) => answer?.text === 'Token bucket',
    ),
  )
  expect(answered.answer?.author).toBe('person')

  // Escape closes it and decides nothing; its notification is not shown again.
  const again = desktop.app.waitForEvent('window')
  daemon.click(second.id)
  const other = await again
  await expect(other.getByText('And where?')).toBeVisible()
  const gone = other.waitForEvent('close')
  await other.keyboard.press('Escape')
  // In a text field the first one leaves the field.
  await Promise.race([gone, other.keyboard.press('Escape').catch(() => undefined)])
  await gone
  expect(daemon.shown()).toEqual([])
  expect((await client.sessions.show({ ref: session.id })).openQuestions).toBe(1)
})

test('a permission request is allowed in its notification; the end of a session is told, and a click shows it', async ({
  bench,
}) => {
  const { desktop, client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  const { session } = await startTicket(client, {
    body: script(bash('touch allowed-file'), say('Touched.')),
  })
  const shown = await daemon.waitFor('the request', ({ title }) => title.includes('asks to use'))
  expect(shown).toMatchObject({ body: 'touch allowed-file' })
  daemon.press(shown.id, 'Allow once')
  await waitForTurnEnd(client, session.id, 1)
  const [request] = await client.requests.list({ session: session.id })
  expect(request?.state).toBe('allowed')

  await client.sessions.finish({ ref: session.id })
  await waitForState(client, session.id, 'finished')
  const end = await daemon.waitFor('the end', ({ title }) => title.includes('is finished'))
  daemon.click(end.id)
  await expect(timelineRegion(desktop.window)).toHaveAttribute('data-session', session.id)
})

test('nobody is told of what they look at, nor of a kind that is switched off', async ({
  bench,
}) => {
  const { desktop, client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  const session = await asks(client, PLAIN)
  const shown = await daemon.waitFor('the question', isQuestion)
  // Said, not asked for: the windows of other tests take the focus of the one display from each other.
  await doInMain(desktop.app, ({ BrowserWindow }) => {
    const [main] = BrowserWindow.getAllWindows()
    BrowserWindow.getFocusedWindow = () => main ?? null
  })
  await desktop.window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
  await daemon.waitUntilGone(shown.id)
  const [question] = await client.questions.list({ session: session.id })
  await client.questions.answer({ ref: question?.id ?? '', options: [1] })
  await waitForTurnEnd(client, session.id, 2)

  // Seen by what is shown after it.
  await client.sessions.send({
    ref: session.id,
    text: script(ask({ question: 'Seen?' }), say('.')),
  })
  await waitForTurnEnd(client, session.id, 3)
  await client.settings.edit({ notify: ['question'] })
  const off = await startTicket(client, { body: script(say('Off.')) })
  await waitForTurnEnd(client, off.session.id, 1)
  await client.sessions.finish({ ref: off.session.id })
  await waitForState(client, off.session.id, 'finished')
  const other = await asks(client, { question: 'Unseen?' })
  await daemon.waitFor('the unseen one', ({ body }) => body === 'Unseen?')
  expect(daemon.history.map(({ body }) => body)).toEqual(['Which limiter?', 'Unseen?'])
  expect(other.id).not.toBe(session.id)
})

test('a crash leaves nothing old on the screen, and the start shows what is open anew', async ({
  bench,
}) => {
  const { desktop, client, bus } = await start(bench)
  const daemon = await startNotificationDaemon(bus.address)
  await asks(client, PLAIN)
  const old = await daemon.waitFor('the question', isQuestion)
  // Of one that is killed before it has noted the number, nobody knows it any more.
  await waitFor('the number of the notification to be noted', async () => {
    const noted = JSON.parse(await readFile(join(bench.dataDir, 'notifications.json'), 'utf8'))
    return noted.ids.includes(old.id)
  })
  await desktop.kill()
  expect(daemon.shown()).toHaveLength(1)
  const next = await bench.desktop({ env: { DBUS_SESSION_BUS_ADDRESS: bus.address } })
  await daemon.waitUntilGone(old.id)
  const anew = await daemon.waitFor('the question anew', isQuestion)
  expect(daemon.shown()).toHaveLength(1)
  await next.quit()
  await daemon.waitUntilGone(anew.id)
})

test('without a service, and when it dies, the application goes on and says so', async ({
  bench,
}) => {
  const { desktop, client, bus } = await start(bench)
  const row = await checkPage(desktop)
  await expect(row).toContainText('no notification service runs on this desktop')

  const daemon = await startNotificationDaemon(bus.address, ['body', 'actions'])
  await expect(row).toContainText('Daemon in hand 1')
  await expect(row).toContainText('with buttons')
  await asks(client, PLAIN)
  const shown = await daemon.waitFor('the question', isQuestion)
  expect(shown.actions.map(({ label }) => label)).not.toContain('Reply')
  await daemon.die()
  await expect(row).toContainText('no notification service runs on this desktop')

  const second: NotificationDaemon = await startNotificationDaemon(bus.address)
  const anew = await second.waitFor('the question anew', isQuestion)
  // The bus itself stays: Chromium ends every application whose session bus goes.
  await second.die()
  await expect(row).toContainText('no notification service runs on this desktop')
  const [question] = await client.questions.list({})
  await client.questions.answer({ ref: question?.id ?? '', options: [1] })
  expect(anew.body).toBe('Which limiter?')
  expect(desktop.isRunning()).toBe(true)
})
