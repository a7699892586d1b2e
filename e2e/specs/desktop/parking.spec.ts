import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { serious } from '../../support/accessibility.ts'
import { ask, waitForQuestions } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import type { DesktopApp } from '../../support/desktop-app.ts'
import { doInMain } from '../../support/main-process.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const COLOUR = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }

async function opened(bench: Workbench, window: string, agents = 1) {
  const desktop = await bench.desktop()
  const client = await desktop.client()
  await client.settings.edit({ agents })
  const { path } = await bench.remote()
  await addProject(client, path, { planner: false, window })
  return { desktop, client, window: desktop.window }
}

/** A session that asked and waits for the answer. */
async function startAsking(client: BalletClient): Promise<Session> {
  const body = script(bash('echo kept > work.txt', 'I begin.'), ask(COLOUR), say('I asked.'))
  const { session } = await startTicket(client, { body })
  await waitForTurnEnd(client, session.id, 1, 60_000)
  await waitForQuestions(client, session.id, 1)
  return client.sessions.show({ ref: session.id })
}

/** A session whose turn runs until a file is there. */
async function startWorking(client: BalletClient, file: string): Promise<Session> {
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(bash(untilFile(file)), say('Over.'))}`,
  })
  await waitForEvent(client, session.id, 'tool.call', () => true, { timeoutMs: 60_000 })
  return client.sessions.show({ ref: session.id })
}

async function openSession(window: Page, { ticket }: Session): Promise<void> {
  await window.getByRole('treeitem', { name: new RegExp(`${ticket}\\b`, 'u') }).click()
  await expect(timelineRegion(window)).toBeVisible()
}

/** The small window that shows how far a quit is. */
function quitWindow({ app }: DesktopApp): Promise<Page> {
  return waitFor('the quit window', async () => {
    for (const page of app.windows()) {
      if ((await page.title().catch(() => '')) === 'Quitting · Ballet') return page
    }
    return undefined
  })
}

const parksAt = async (client: BalletClient, { id }: Session) =>
  Date.parse((await client.sessions.show({ ref: id })).parkAt ?? '')

test('a session that waits shows its deadline, is kept online, parked now, and resumed by its answer', async ({
  bench,
}) => {
  const { client, window } = await opened(bench, '10m')
  const session = await startAsking(client)
  await openSession(window, session)
  const head = window.locator('.pane-head')
  await expect(head).toContainText(/parks in \d:\d\d/u)
  await expect(window.getByRole('region', { name: 'Fleet' })).toContainText(/parks in \d:\d\d/u)
  await head.getByRole('button', { name: 'Keep online 1 h' }).click()
  await expect(head).toContainText(/parks in (59:\d\d|1:00:00)/u)
  expect(await parksAt(client, session)).toBeGreaterThan(Date.now() + 50 * 60_000)
  await window.keyboard.press('Control+B')
  await expect(window.locator('.item-facts')).toContainText(/parks in (59:\d\d|1:00:00)/u)
  await expect(
    window.locator('.item-facts').getByRole('button', { name: 'Park now' }),
  ).toBeVisible()

  await openSession(window, session)
  await head.getByRole('button', { name: 'Park now' }).click()
  const card = window.getByRole('region', { name: 'SHOP-1 is parked' })
  await expect(card).toBeVisible({ timeout: 30_000 })
  const { parked } = await client.sessions.show({ ref: session.id })
  for (const text of ['Parked by you', session.branch, parked?.commit?.slice(0, 12), 'pushed']) {
    await expect(card).toContainText(text ?? 'a commit')
  }
  await expect(card).toContainText(/Claude Code \d/u)
  await expect(card).toContainText(/resuming reloads .* tokens/u)
  const timeline = timelineRegion(window)
  await expect(timeline).toContainText('I asked.')
  const steps = timeline.getByRole('button', { name: /^Parked/u })
  for (const step of ['settle', 'snapshot', 'push', 'state', 'store', 'free']) {
    await expect(steps).toContainText(step)
  }
  await steps.click()
  await expect(timeline.getByRole('listitem').filter({ hasText: 'snapshot' })).toBeVisible()
  expect(await serious(window)).toEqual([])
  expect(await client.agents.list()).toMatchObject([{ session: null }])

  await window.keyboard.press('Control+B')
  await expect(
    window.getByText('The session is parked: bring it back with the answer'),
  ).toBeVisible()
  await expect(window.getByRole('region', { name: 'Question SHOP-1-Q1' })).toBeFocused()
  await window.keyboard.press('1')
  await window.keyboard.press('Enter')
  await waitForTurnEnd(client, session.id, 2, 60_000)
  const seen = seenIn(requestsOf(bench.model, session.conversation).at(-1))
  for (const text of ['I begin.', 'I asked.', 'Answer: Red']) expect(seen).toContain(text)
  await openSession(window, session)
  await expect(timelineRegion(window).getByRole('button', { name: /^Resumed/u })).toBeVisible()
  checkTimeline(
    await timelineOf(client, session.id),
    await client.sessions.show({ ref: session.id }),
  )
})

test('who writes has the time for it; who leaves finds the session parked, and resumes it', async ({
  bench,
}) => {
  const { client, window } = await opened(bench, '25s')
  const session = await startAsking(client)
  await openSession(window, session)
  const box = window.getByRole('form', { name: 'Message' }).getByRole('textbox')
  await box.fill('I think about')
  await waitFor(
    'the deadline to move on',
    async () => (await parksAt(client, session)) > Date.now() + 90_000,
  )
  await box.fill('')
  await client.sessions.edit({ ref: session.id, window: 'now' })
  await client.sessions.park({ ref: session.id })
  await waitForState(client, session.id, 'parked')
  await expect(window.getByRole('region', { name: 'SHOP-1 is parked' })).toBeVisible()
  await window.keyboard.press('Control+Shift+G')
  await waitFor('the session to be back', async () => {
    const { state, agent } = await client.sessions.show({ ref: session.id })
    return agent !== null || state === 'parked' ? agent !== null : undefined
  })
  await waitForEvent(client, session.id, 'resume.step', ({ step, status }) => {
    return step === 'prove' && status === 'done'
  })
})

test('a signal keeps everything within ten seconds, and the next start goes on', async ({
  bench,
}) => {
  const { desktop, client } = await opened(bench, 'never', 2)
  const gate = bench.path('gate')
  const waiting = await startAsking(client)
  const working = await startWorking(client, gate)
  const begun = Date.now()
  await desktop.end()
  expect(Date.now() - begun).toBeLessThan(10_000)
  // Chromium's own processes end when they see that the main one is gone.
  await waitFor('everything to be gone', async () => (await bench.processes()).length === 0, {
    timeoutMs: 5_000,
  })

  await writeFile(gate, '')
  const later = await (await bench.desktop()).client()
  await waitForTurnEnd(later, working.id, 2, 90_000)
  expect(await later.sessions.show({ ref: waiting.id })).toMatchObject({
    ...{ state: 'parked', agent: null, openQuestions: 1 },
    parked: { why: 'quit', wakes: false },
  })
  for (const { id } of [waiting, working]) {
    checkTimeline(await timelineOf(later, id), await later.sessions.show({ ref: id }))
  }
})

test('quitting parks every session, and after the start the right ones run', async ({ bench }) => {
  test.setTimeout(420_000)
  const first = await opened(bench, 'never', 5)
  const { client } = first
  const gate = bench.path('gate')
  const waiting = [await startAsking(client), await startAsking(client)]
  const working: Session[] = []
  for (let count = 0; count < 3; count += 1) working.push(await startWorking(client, gate))

  // The end of the last window is a quit. Taken back: what waited is parked by then, what worked goes on.
  await first.window.close()
  const quitting = await quitWindow(first.desktop)
  await expect(quitting.getByRole('heading', { name: 'Ballet is quitting' })).toBeVisible()
  await expect(quitting.getByRole('status')).toContainText(/^\d sessions of \d still hold/u)
  await expect(quitting.getByText('Quit again, or close this window')).toBeVisible()
  for (const { ticket } of working) await expect(quitting.getByText(ticket)).toBeVisible()
  await expect(quitting.getByText(/interrupted in 0:\d\d/u)).toHaveCount(3)
  expect(await serious(quitting)).toEqual([])
  for (const { id } of waiting) await waitForState(client, id, 'parked')
  await expect(quitting.getByRole('status')).toContainText(
    '3 sessions of 5 still hold their agents',
  )
  await quitting.getByRole('button', { name: 'Cancel quit' }).click()
  await waitFor('the window to be there again, alone', async () => {
    const titles = await Promise.all(
      first.desktop.app.windows().map((page) => page.title().catch(() => 'gone')),
    )
    return titles.length === 1 && titles[0] !== 'Quitting · Ballet' && titles[0] !== 'gone'
  })
  await waitFor('the agents to take sessions again', async () =>
    (await client.agents.list()).every(({ state }) => state === 'busy' || state === 'idle'),
  )
  for (const { id } of working) {
    expect(await client.sessions.show({ ref: id })).toMatchObject({ state: 'working', turn: 1 })
  }

  // Their grace is over when it was to be, unless somebody waits for them a second time.
  await client.settings.edit({ drainGraceSeconds: 20 })
  const begun = performance.now()
  await doInMain(first.desktop.app, ({ app }) => app.quit())
  const again = await quitWindow(first.desktop)
  await expect(again.getByText(/interrupted in 0:[01]\d/u)).toHaveCount(3)
  await again.getByRole('button', { name: 'Keep waiting' }).click()
  await waitFor('the first grace to be over', () => performance.now() - begun > 21_000, {
    timeoutMs: 30_000,
  })
  for (const { id } of working) {
    expect(await client.sessions.show({ ref: id })).toMatchObject({ state: 'working', turn: 1 })
  }
  await again.getByRole('button', { name: 'Interrupt now' }).click()
  await waitFor('the application to end', () => !first.desktop.isRunning(), { timeoutMs: 60_000 })
  // Chromium's own processes end when they see that the main one is gone.
  await waitFor('everything to be gone', async () => (await bench.processes()).length === 0, {
    timeoutMs: 5_000,
  })
  expect(await readdir(join(bench.dataDir, 'workspaces'))).toEqual([])

  await writeFile(gate, '')
  const second = await bench.desktop()
  const later = await second.client()
  for (const { id, conversation } of working) {
    await waitForTurnEnd(later, id, 2, 90_000)
    expect(await later.sessions.show({ ref: id })).toMatchObject({ conversation, parked: null })
    expect(timesSaid(requestsOf(bench.model, conversation).at(-1), 'Ticket-word.')).toBe(1)
  }
  for (const { id } of waiting) {
    expect(await later.sessions.show({ ref: id })).toMatchObject({
      ...{ state: 'parked', agent: null, openQuestions: 1, turn: 1 },
      parked: { why: 'quit', wakes: false, pushed: true },
    })
  }
  for (const { id } of [...working, ...waiting]) {
    checkTimeline(await timelineOf(later, id), await later.sessions.show({ ref: id }))
  }
})
