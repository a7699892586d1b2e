import { expect } from '@playwright/test'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { say, script, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { timelineOf, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { tabTo, timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

test('the first start says that there is nothing yet and offers the next steps', async ({
  bench,
}) => {
  const { window } = await bench.desktop()
  await expect(window).toHaveTitle(/Ballet/u)
  await expect(window.getByRole('heading', { name: 'Ballet', exact: true })).toBeVisible()
  const main = window.getByRole('main')
  await expect(main.getByRole('button', { name: /demo/iu })).toBeVisible()
  await expect(main.getByRole('button', { name: /project/iu }).first()).toBeVisible()
  await expect(window.getByRole('region', { name: 'Fleet' }).getByRole('button')).toHaveCount(3)
})

test('a project and a ticket are made and run by the keyboard alone', async ({ bench }) => {
  const remote = await bench.remote()
  const desktop = await bench.desktop()
  const { window } = desktop
  const { keyboard } = window
  await expect(window.getByRole('region', { name: 'Fleet' })).toBeVisible()

  await keyboard.press('Control+Shift+N')
  await tabTo(window, window.getByLabel('Name', { exact: true }))
  await keyboard.type('Shop')
  await tabTo(window, window.getByLabel(/^Repository/u))
  await keyboard.type(bench.path('nowhere.git'))
  await keyboard.press('Enter')
  // What is refused is named, and what was typed is still there.
  await expect(window.getByRole('alert').filter({ hasText: 'nowhere.git' })).toBeVisible()
  await tabTo(window, window.getByLabel(/^Repository/u))
  await expect(window.getByLabel(/^Repository/u)).toHaveValue(bench.path('nowhere.git'))
  await keyboard.press('Control+A')
  await keyboard.type(remote.path)
  await keyboard.press('Enter')
  const tree = window.getByRole('tree', { name: 'Tickets' })
  await expect(tree.getByRole('treeitem', { name: /Shop/u })).toBeVisible()

  await keyboard.press('Control+N')
  await tabTo(window, window.getByLabel('Title', { exact: true }))
  await keyboard.type('Add a note')
  await tabTo(window, window.getByRole('main').locator('textarea').first())
  await keyboard.insertText(
    `Please. ${script(write('note.txt', 'note\n'), say('The note is *there*.'))}`,
  )
  await keyboard.press('Control+Enter')

  const client = await desktop.client()
  await waitForTurnEnd(client, 'SHOP-1', 1)
  const timeline = timelineRegion(window)
  await expect(timeline.getByText('The note is there.')).toBeVisible()
  await expect(timeline.getByText('note.txt').first()).toBeVisible()
  const session = await client.sessions.show({ ref: 'SHOP-1' })
  checkTimeline(await timelineOf(client, session.id), session)
  expect(seenIn(requestsOf(bench.model, session.conversation)[0])).toContain('Add a note')

  // Finishing, by the palette.
  const finish = window.getByRole('button', { name: 'Finish', exact: true })
  await expect(finish).toHaveAttribute('aria-disabled', 'false')
  await keyboard.press('Control+K')
  await keyboard.type('Finish this session')
  await keyboard.press('Enter')
  const question = window.getByRole('alertdialog', { name: 'Finish session' })
  await expect(question.getByRole('button', { name: /^Finish session/u })).toBeFocused()
  await keyboard.press('Enter')
  const finished = await waitForState(client, session.id, 'finished')
  expect(await remote.readFile(finished.branch, 'note.txt')).toBe('note\n')
})

test('the demo runs without an account, from the first screen', async ({ bench }) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  await window.getByRole('main').getByRole('button', { name: /demo/iu }).click()
  const timeline = timelineRegion(window)
  await expect(timeline).toBeVisible({ timeout: 20_000 })
  const client = await desktop.client()
  const [session] = await client.sessions.list()
  const id = session?.id ?? ''
  await waitForTurnEnd(client, id, 1, 45_000)
  const after = await client.sessions.show({ ref: id })
  checkTimeline(await timelineOf(client, id), after)
  expect(after.costUsd).toBeGreaterThan(0)
  // Its model is the demo's own, not the person's.
  expect(bench.model.requests()).toEqual([])
})
