import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { serious } from '../../support/accessibility.ts'
import { requestsOf, timesSaid } from '../../support/conversation.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { addProject, startTicket, waitForEvent, waitForTurnEnd } from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

/** A PNG of one red point. */
const POINT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

test('queued messages are dragged, images dropped, looked at large and found, in one pane of two', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const blocked: string[] = []
  window.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) blocked.push(message.text())
  })
  const client = await desktop.client()
  await addProject(client, (await bench.remote()).path)
  const done = bench.path('done')
  const { session } = await startTicket(client, {
    title: 'By mouse',
    body: script(bash(untilFile(done), 'I begin:\n\n```js\nconst found = 1\n```'), say('Done.')),
  })
  await window.getByRole('treeitem', { name: /By mouse/u }).click()
  await waitForEvent(client, session.id, 'tool.call')
  const form = window.getByRole('form', { name: 'Message' })
  const box = form.getByRole('textbox')
  for (const text of ['First-word', 'Second-word', 'Third-word']) {
    await box.fill(text)
    await box.press('Enter')
    await expect(box).toHaveValue('')
  }
  const lines = window.getByRole('list', { name: 'Queued inputs' }).getByRole('listitem')
  await expect(lines).toHaveText([/First-word/u, /Second-word/u, /Third-word/u])
  // One that is still being sent is a line too, and cannot be moved.
  const known = window.locator('li[data-input]')
  await expect(known).toHaveCount(3)
  await lines.nth(2).dragTo(lines.nth(0))
  await expect(lines).toHaveText([/Third-word/u, /First-word/u, /Second-word/u])
  await lines.nth(0).dragTo(lines.nth(1))
  await expect(lines).toHaveText([/First-word/u, /Third-word/u, /Second-word/u])

  await box.evaluate((element, base64) => {
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }))
    for (const type of ['dragover', 'drop']) {
      element.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }))
    }
  }, POINT)
  await expect(form.getByRole('img', { name: 'dropped.png' })).toBeVisible()
  await box.fill('Look-word')
  await box.press('Enter')
  await expect(known).toHaveCount(4)
  await writeFile(done, '')
  await waitForTurnEnd(client, session.id, 2)
  const { conversation } = await client.sessions.show({ ref: session.id })
  const last = requestsOf(bench.model, conversation).at(-1)
  expect(timesSaid(last, 'First-word\n\nThird-word\n\nSecond-word')).toBe(1)
  expect(JSON.stringify(last?.messages)).toContain(POINT)

  const timeline = timelineRegion(window)
  await timeline.getByRole('button', { name: /^Image 1.*show large/u }).click()
  await expect(window.getByRole('dialog', { name: /^Image 1/u })).toBeVisible()
  expect(await serious(window), 'image').toEqual([])
  await window.keyboard.press('Escape')

  await window.keyboard.press('Control+F')
  const find = window.getByLabel('Find in this timeline')
  await find.fill('First-word')
  await find.press('Enter')
  await expect(window.getByText('1 of 1', { exact: true })).toBeVisible()
  expect(await serious(window), 'find').toEqual([])
  await find.press('Escape')

  await window.keyboard.press('Control+\\')
  await expect(window.locator('.pane')).toHaveCount(2)
  await window.setViewportSize({ width: 1_024, height: 720 })
  expect(await serious(window), 'split').toEqual([])
  expect(blocked).toEqual([])
})
