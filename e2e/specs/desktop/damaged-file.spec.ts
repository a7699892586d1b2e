import { readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { serious } from '../../support/accessibility.ts'
import { bash, say, script } from '../../support/steps.ts'
import { addProject, startTicket, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

test('a session that a damaged kept file fails is resumed without it, by a button in its pane', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  const { path } = await bench.remote()
  await addProject(client, path, { planner: false, window: 'never' })
  const body = script(bash('echo KEY=1 > .env && echo work > work.txt', 'I begin.'), say('Done.'))
  const { session } = await startTicket(client, { body })
  const { id } = session
  await waitForTurnEnd(client, id, 1, 60_000)
  await client.sessions.park({ ref: id })
  await waitForState(client, id, 'parked', { timeoutMs: 60_000 })
  const folder = join(bench.dataDir, 'kept', id)
  const name = (await readdir(folder)).find((each) => each.startsWith('aside-')) ?? 'none'
  await truncate(join(folder, name), 40)
  await client.sessions.resume({ ref: id })
  await waitForState(client, id, 'failed', { timeoutMs: 60_000 })

  await window.getByRole('treeitem', { name: new RegExp(`${session.ticket}\\b`, 'u') }).click()
  const notes = window.locator('.session-notes')
  await expect(notes).toContainText(name)
  await expect(notes).toContainText('.env')
  const button = notes.getByRole('button', { name: 'Resume without the damaged files' })
  await expect(button).toBeVisible()
  expect(await serious(window)).toEqual([])
  await window.screenshot({ path: test.info().outputPath('damaged.png') })
  await button.click()
  await waitForState(client, id, 'waiting', { timeoutMs: 60_000 })
  await expect(button).toHaveCount(0)
  await expect(timelineRegion(window)).toContainText('without kept files that are damaged')
})
