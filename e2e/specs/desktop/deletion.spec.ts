import { expect, type Page } from '@playwright/test'
import { serious } from '../../support/accessibility.ts'
import { runtimeFilesOf } from '../../support/ballet-things.ts'
import { parkNow, SHOP_FILES, startWithWork } from '../../support/parked-work.ts'
import { addProject } from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

async function openTicket(window: Page, key: string): Promise<void> {
  await window.getByRole('treeitem', { name: new RegExp(`${key}\\b`, 'u') }).click()
  await expect(timelineRegion(window)).toBeVisible()
  await window.keyboard.press('Control+E')
  await window.getByRole('button', { name: 'Cancel' }).click()
  await expect(window.getByRole('button', { name: 'Delete this ticket…' })).toBeVisible()
}

test('deleting a ticket whose work is nowhere else takes the name of its branch, and says what is gone', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  const remote = await bench.remote({ files: SHOP_FILES })
  await addProject(client, remote.path, { planner: false, window: 'never' })
  // Without what is not for the remote: it is the branch that holds the only copy.
  const { session } = await startWithWork(client, 'rm .env')
  await parkNow(client, session.id)
  await openTicket(window, session.ticket)

  // It can be thought over.
  await window.getByRole('button', { name: 'Delete this ticket…' }).click()
  await expect(window.getByText(`Delete ${session.ticket} with its sessions`)).toBeVisible()
  await window.getByRole('button', { name: 'Keep it' }).click()
  await window.getByRole('button', { name: 'Delete this ticket…' }).click()
  await window.getByLabel('Its branch on the remote too').check()
  await window.getByRole('button', { name: 'Delete', exact: true }).click()

  const alert = window.getByRole('alert').filter({ hasText: 'holds work that no other branch' })
  await expect(alert).toContainText('Keep it, or type the name of its branch')
  const typed = window.getByRole('textbox', { name: `Type ${session.branch} to remove` })
  const remove = window.getByRole('button', { name: 'Delete with its work' })
  await expect(remove).toBeDisabled()
  await typed.fill(session.branch.slice(0, -1))
  await expect(remove).toBeDisabled()
  for (const scheme of ['light', 'dark'] as const) {
    await window.emulateMedia({ colorScheme: scheme })
    await expect(window.locator('html')).toHaveAttribute('data-theme', scheme)
    expect(await serious(window), scheme).toEqual([])
    const path = test.info().outputPath(`delete-${scheme}.png`)
    await window.screenshot({ path })
  }
  expect(await remote.branches()).toContain(session.branch)
  await typed.fill(session.branch)
  await remove.click()

  await expect(window.getByText('This ticket is gone: it was deleted.')).toBeVisible()
  const gone = window.getByText(/Gone with it: 1 session with \d+ events/u)
  for (const part of ['1 kept file (', 'its branch on the remote.']) {
    await expect(gone).toContainText(part)
  }
  expect(await serious(window), 'gone').toEqual([])
  await expect(window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') })).toBeHidden()
  expect(await remote.branches()).toEqual(['main'])
  expect(await runtimeFilesOf(bench, session.conversation)).toEqual([])
})
