import { expect as expectSoon, type Page } from '@playwright/test'
import { waitForQuestions } from '../support/asking.ts'
import type { BalletClient } from '../support/ballet-client.ts'
import { bash, script } from '../support/steps.ts'
import { waitFor } from '../support/wait-for.ts'
import { waitForEvent, waitForState, waitForTurnEnd } from '../support/watch.ts'
import { runByName, timelineRegion } from '../support/window.ts'
import type { Camera } from './camera.ts'
import { later, tickets } from './sample.ts'

/** The machine may be busy with something else. */
const expect = expectSoon.configure({ timeout: 30_000 })

type Stage = {
  readonly window: Page
  readonly client: BalletClient
  readonly camera: Camera
  /** Paths of remotes. */
  readonly shop: string
  readonly api: string
}

const line = (window: Page, name: string) =>
  window.getByRole('treeitem', { name: new RegExp(name, 'u') })

async function open(window: Page, name: string): Promise<void> {
  await line(window, name).click()
  await expect(timelineRegion(window)).toBeVisible()
}

/** Before there is anything: the first screen, a form that was refused, the demo at work. */
export async function firstViews({ window, client, camera }: Stage): Promise<void> {
  await expect(window.getByRole('region', { name: 'Fleet' })).toBeVisible()
  await camera.take('empty')
  await window.keyboard.press('Control+B')
  await expect(window.getByText('Nothing waits for you.')).toBeVisible()
  await camera.take('inbox-empty')

  await window.keyboard.press('Control+Shift+N')
  await window.getByLabel(/^Repository/u).fill('git@git.example.invalid:acme/shop.git')
  await window.getByRole('button', { name: /^Add project/u }).click()
  await expect(window.getByRole('alert')).toBeVisible({ timeout: 60_000 })
  await camera.take('new-project-refused')

  await window.keyboard.press('Control+Shift+H')
  await window.getByRole('main').getByRole('button', { name: /demo/iu }).click()
  await expect(timelineRegion(window)).toBeVisible({ timeout: 30_000 })
  const [demo] = await waitFor('the demo’s session', async () => {
    const sessions = await client.sessions.list()
    return sessions.length > 0 && sessions
  })
  await waitForEvent(client, demo?.id ?? '', 'tool.result', () => true, { timeoutMs: 60_000 })
  await camera.take('demo-running')
  await waitForTurnEnd(client, demo?.id ?? '', 1, 90_000)
}

/** Projects with tickets, and sessions that work, ask and wait. */
export async function fillWorld({ client, shop, api }: Stage): Promise<void> {
  await client.settings.edit({ agents: 4 })
  await client.projects.add({ name: 'shop', repo: shop, permission: 'full' })
  await client.projects.add({ name: 'api', repo: api, permission: 'ask', env: { API_TOKEN: 'x' } })
  for (const [at, title] of later.entries()) {
    await client.tickets.add({ project: at % 2 === 0 ? 'shop' : 'api', title, priority: 3 })
  }
  const start = async (project: string, ticket: (typeof tickets)[keyof typeof tickets]) => {
    const made = await client.tickets.add({ ...ticket, project, start: true })
    return (await client.sessions.show({ ref: made.key })).id
  }
  const cart = await start('shop', tickets.cart)
  await waitForTurnEnd(client, cart, 1, 60_000)
  const rounding = await start('shop', tickets.rounding)
  await waitForTurnEnd(client, rounding, 1, 60_000)
  await client.sessions.stop({ ref: rounding })
  await waitForState(client, rounding, 'parked', { timeoutMs: 60_000 })
  const dates = await start('api', tickets.dates)
  const limits = await start('shop', tickets.limits)
  await waitForEvent(client, dates, 'request.opened', () => true, { timeoutMs: 60_000 })
  await waitForEvent(client, limits, 'tool.call', ({ toolKind }) => toolKind === 'execute', {
    timeoutMs: 60_000,
  })
}

/** What people look at all day: sessions, requests, what is queued. */
export async function sessionViews({ window, client, camera }: Stage): Promise<void> {
  await open(window, tickets.cart.title)
  await expect(timelineRegion(window).getByText('The change is tested')).toBeVisible()
  await camera.take('session')
  await window.keyboard.press('Control+F')
  await window.keyboard.type('old key')
  await window.keyboard.press('Enter')
  await camera.take('find')
  await window.keyboard.press('Escape')

  await open(window, tickets.dates.title)
  await window.keyboard.press('Control+Shift+A')
  await expect(
    timelineRegion(window).getByRole('region', { name: /^Permission request/u }),
  ).toBeFocused()
  await camera.take('request')
  await window.keyboard.press('Control+Shift+R')
  await expect(window.getByRole('region', { name: /^Permission request/u })).toBeFocused()
  await camera.take('requests')

  const { id } = await client.sessions.show({ ref: await keyOf(client, tickets.cart.title) })
  await client.sessions.send({ ref: id, text: 'Keep the old key readable for one release.' })
  await waitForEvent(
    client,
    id,
    'tool.call',
    ({ turn, toolKind }) => turn === 2 && toolKind === 'execute',
  )
  for (const text of [
    'Also add a note to the changelog.',
    'Then look at the checkout page on a phone.',
  ]) {
    await client.sessions.send({ ref: id, text })
  }
  await open(window, tickets.cart.title)
  const box = window.getByRole('form', { name: 'Message' }).getByRole('textbox')
  await box.fill('Leave the public names as they are.')
  await camera.take('queued-inputs')
  await box.fill('')
  await line(window, tickets.dates.title).click({ modifiers: ['ControlOrMeta'] })
  await expect(timelineRegion(window)).toHaveCount(2)
  await window.keyboard.press('Control+1')
  await camera.take('window')
  await window.keyboard.press('Control+2')
  await window.keyboard.press('Control+Shift+\\')
}

const question = (window: Page, text: string) =>
  window.getByRole('region', { name: /^Question/u }).filter({ hasText: text })

/** What agents ask and assume, wherever it is answered. */
export async function inboxViews({ window, client, camera }: Stage): Promise<void> {
  // The demo has done its part; its agent is wanted.
  const [demo] = await client.sessions.list({ project: 'demo' })
  if (demo !== undefined) await client.sessions.stop({ ref: demo.id })
  const made = await client.tickets.add({ ...tickets.mails, project: 'shop', start: true })
  const { id } = await client.sessions.show({ ref: made.key })
  await waitForTurnEnd(client, id, 1, 60_000)
  const open = await waitForQuestions(client, id, 2, undefined, 60_000)

  await window.keyboard.press('Control+B')
  await window.getByRole('button', { name: /^Which library/u }).click()
  await expect(question(window, 'Which library')).toBeFocused()
  await window.keyboard.press('1')
  await camera.take('inbox')
  await window.keyboard.press('Control+Shift+H')
  await line(window, tickets.mails.title).click()
  await expect(question(window, 'Which of the old formats')).toBeVisible()
  await camera.take('question')
  await window
    .getByRole('button', { name: /0004\.md:9/u })
    .first()
    .click()
  await expect(
    window
      .getByRole('dialog', { name: /^Source/u })
      .locator('mark')
      .first(),
  ).toBeVisible()
  await camera.take('source')
  await window.keyboard.press('Escape')

  await inHash(window, `#answer/${open[0]?.id}`)
  await expect(question(window, 'Which library')).toBeFocused()
  await camera.take('answer-window', { width: 520, height: 420 })
  await inHash(window, '')
  await expect(window.getByRole('button', { name: /^Inbox/u })).toBeVisible()
}

/** A session that waits, is parked and keeps all of its work. */
export async function parkingViews({ window, client, camera }: Stage): Promise<void> {
  const key = await keyOf(client, tickets.mails.title)
  await open(window, tickets.mails.title)
  await expect(window.locator('.pane-head')).toContainText('parks in')
  await camera.take('online-window')
  await window.keyboard.press('Control+Shift+P')
  const card = window.getByRole('region', { name: `${key} is parked` })
  await expect(card).toBeVisible({ timeout: 60_000 })
  await timelineRegion(window)
    .getByRole('button', { name: /^Parked/u })
    .click()
  await camera.take('parked')
}

/** The pages around them. */
export async function pageViews({ window, client, camera }: Stage): Promise<void> {
  const page = async (name: string, keys: string, seen: string) => {
    await window.keyboard.press(keys)
    await expect(window.getByRole('heading', { name: seen, exact: true })).toBeVisible()
    await camera.take(name)
  }
  await page('overview', 'Control+Shift+H', 'Overview')
  await open(window, tickets.cart.title)
  await runByName(window, 'Show this ticket')
  await expect(window.getByRole('heading', { name: 'Sessions 1' })).toBeVisible()
  await camera.take('ticket')
  await page('edit-ticket', 'Control+E', `Edit ${await keyOf(client, tickets.cart.title)}`)
  await window.keyboard.press('Control+N')
  await expect(window.getByLabel('Title', { exact: true })).toBeVisible()
  await camera.take('new-ticket')
  await open(window, tickets.dates.title)
  await runByName(window, 'Edit this project')
  await expect(window.getByRole('heading', { name: 'Project api' })).toBeVisible()
  await camera.take('edit-project')
  await window.getByRole('button', { name: 'Add a stage' }).click()
  await window.getByLabel('Name of stage 1').fill('review')
  await window.getByLabel('Runtime of review').selectOption('codex')
  await window
    .getByRole('group', { name: 'Stages' })
    .evaluate((stages) => stages.scrollIntoView({ block: 'center' }))
  await camera.take('stages')
  await window.keyboard.press('Control+,')
  const claude = window.locator('details.runtime').filter({ hasText: 'Claude Code' })
  await expect(claude).toContainText('logged in', { timeout: 60_000 })
  await page('settings', 'Control+,', 'Settings')
  await page('fleet', 'Control+Shift+F', 'Fleet')
  await runByName(window, 'Check this machine')
  await expect(window.getByRole('cell', { name: 'Claude Code' })).toBeVisible({ timeout: 30_000 })
  await camera.take('check')
  await open(window, tickets.cart.title)
  await window.keyboard.press('Control+Shift+E')
  const dialog = window.getByRole('dialog')
  await expect(dialog.getByRole('button', { name: /^Continue with Codex/u })).toBeVisible()
  await camera.take('continue')
  await window.keyboard.press('Escape')
  for (const [name, title] of [
    ['export', 'Export this session'],
    ['import', 'Import a session'],
  ] as const) {
    await runByName(window, title)
    await expect(dialog.getByLabel('Passphrase')).toBeVisible()
    await camera.take(name)
    await window.keyboard.press('Escape')
  }
  await window.keyboard.press('Control+K')
  await camera.take('palette')
  await window.keyboard.press('Escape')
  await runByName(window, 'Keyboard')
  await expect(window.getByRole('dialog', { name: 'Keyboard' })).toBeVisible()
  await camera.take('keyboard')
  await window.keyboard.press('Escape')
}

/** A sidebar of many tickets, an inbox of many questions. */
export async function muchView({ window, client, camera }: Stage): Promise<void> {
  await client.settings.edit({ agents: 5 })
  await client.projects.edit({ ref: 'api', planner: false })
  const made = await client.tickets.add({ ...tickets.many, project: 'api', start: true })
  const { id } = await client.sessions.show({ ref: made.key })
  await waitForTurnEnd(client, id, 1, 60_000)
  await window.keyboard.press('Control+B')
  await expect(question(window, 'Which header')).toBeFocused()
  await camera.take('inbox-much')

  const words = ['Speed up', 'Cache', 'Document', 'Split', 'Test', 'Rename']
  const things = ['the price index', 'invoice numbers', 'login by passkey', 'search suggestions']
  for (let at = 0; at < 300; at += 1) {
    const title = `${words[at % words.length]} ${things[at % things.length]}`
    await client.tickets.add({ project: 'api', title, priority: 1 + (at % 5) })
  }
  await window.keyboard.press('Control+Shift+H')
  await camera.take('many-tickets')
}

/** The window of a quit: what waits is parked, what works has its grace. */
export async function quitView({ window, client, camera }: Stage): Promise<void> {
  const body = script(bash('sleep 300', 'I look for the colours of the mails.'))
  const made = await client.tickets.add({ project: 'shop', title: 'Dark mails', body, start: true })
  const { id } = await client.sessions.show({ ref: made.key })
  await waitForEvent(client, id, 'tool.call', () => true, { timeoutMs: 60_000 })
  await inHash(window, '#quit')
  await expect(window.getByRole('button', { name: 'Cancel quit' })).toBeVisible()
  await client.agents.drain({ how: 'gently' })
  await expect(window.locator('.quit-list [data-state="parked"]').first()).toBeVisible()
  await camera.take('quit', { width: 560, height: 380 })
}

/** The page of a small window, in this one. */
async function inHash(window: Page, hash: string): Promise<void> {
  await window.evaluate((wanted) => {
    location.hash = wanted
  }, hash)
  await window.reload()
}

async function keyOf(client: BalletClient, title: string): Promise<string> {
  const found = (await client.tickets.list()).find((ticket) => ticket.title === title)
  return found?.key ?? ''
}
