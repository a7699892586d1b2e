import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { bash, say, script } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import { addProject, startTicket, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { runByName, timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

test('a form holds what was saved, says so at its button, and keeps the focus', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  const { id } = await addProject(client, (await bench.remote()).path)
  await expect(window.getByRole('treeitem', { name: /Shop/u })).toBeVisible()
  await runByName(window, 'Edit this project')
  const form = window.getByRole('form', { name: 'Project' })
  const permission = form.getByLabel('Permission', { exact: true })
  const save = form.getByRole('button', { name: /^Save/u })
  const saved = form.getByRole('status').filter({ hasText: 'Saved.' })

  await permission.selectOption('ask')
  await save.focus()
  await window.keyboard.press('Enter')
  await expect(saved).toBeInViewport()
  await expect(save).toBeFocused()
  await expect(permission).toHaveValue('ask')

  await form.getByLabel('Model', { exact: true }).fill('opus')
  await expect(saved).toHaveCount(0)
  await window.keyboard.press('Enter')
  await expect(saved).toBeInViewport()
  await expect(form.getByLabel('Model', { exact: true })).toBeFocused()
  expect(await client.projects.show({ ref: id })).toMatchObject({
    permission: 'ask',
    model: 'opus',
  })

  // What is brought into sight scrolls the pane and never the window.
  await form
    .getByLabel('Online window')
    .evaluate((field) => field.scrollIntoView({ block: 'center' }))
  expect(await window.evaluate(() => document.scrollingElement?.scrollTop)).toBe(0)

  // Settings: a path, a variable, the size of the fleet.
  await window.keyboard.press('Control+,')
  await window.locator('summary').filter({ hasText: 'Claude Code' }).click()
  const path = window.getByLabel('Path of Claude Code')
  await path.fill('/opt/claude')
  await window.keyboard.press('Enter')
  await expect(window.getByRole('status').filter({ hasText: 'Saved.' })).toBeVisible()
  await expect(path).toBeFocused()
  await window.getByRole('button', { name: 'Look for it again' }).click()
  await expect(path).toHaveValue('')
  await expect(path).toBeFocused()
  const name = window.getByLabel('Name of a variable')
  await name.fill('HTTPS_PROXY')
  await window.keyboard.press('Enter')
  await window.getByRole('button', { name: 'Do not pass HTTPS_PROXY' }).click()
  await expect(name).toBeFocused()

  const agents = window.getByRole('region', { name: 'Fleet' }).getByRole('button')
  await window.getByRole('button', { name: 'One agent more' }).click()
  await expect(agents).toHaveCount(4)
  const fewer = window.getByRole('button', { name: 'One agent fewer' })
  for (let size = 4; size > 1; size -= 1) await fewer.click()
  await expect(agents).toHaveCount(1)
  await expect(fewer).toBeFocused()
  expect(await client.settings.show()).toMatchObject({ agents: 1, passEnv: [], runtimePaths: {} })
})

test('the focus is never nowhere: after an answer, a question that is left, and a finish', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const { keyboard } = window
  const client = await desktop.client()
  const welcome = window.getByRole('heading', { name: 'Welcome' })
  await expect(welcome).toBeFocused()
  // Nobody chose it: it shows no ring.
  await expect(welcome).toHaveCSS('outline-style', 'none')
  await addProject(client, (await bench.remote()).path, { permission: 'ask' })
  const { session } = await startTicket(client, {
    title: 'In hand',
    body: script(bash('touch a-file'), say('Done as asked.')),
  })
  await window.getByRole('treeitem', { name: /In hand/u }).click()
  const request = window.getByRole('region', { name: /^Permission request/u })
  await expect(request).toContainText('For this session')
  await keyboard.press('Control+Shift+A')
  await expect(request).toBeFocused()
  await keyboard.press('Enter')
  const box = window.getByRole('form', { name: 'Message' }).getByRole('textbox')
  await expect(box).toBeFocused()
  await waitForTurnEnd(client, session.id, 1)
  const finish = window.getByRole('button', { name: 'Finish', exact: true })
  await expect(finish).toHaveAttribute('aria-disabled', 'false')

  await keyboard.press('Control+Shift+D')
  const question = window.getByRole('alertdialog', { name: 'Finish session' })
  for (const word of ['committed', session.branch, 'workspace is removed', 'ticket is Done']) {
    await expect(question).toContainText(word)
  }
  await keyboard.press('Escape')
  await expect(question).toHaveCount(0)
  await expect(box).toBeFocused()

  await finish.click()
  await question.getByRole('button', { name: /^Finish session/u }).press('Enter')
  await waitForState(client, session.id, 'finished')
  await expect(timelineRegion(window)).toBeFocused()
  await keyboard.press('Control+Shift+H')
  await expect(window.getByRole('heading', { name: 'Overview' })).toBeFocused()
})

test('what was typed is there again after kill -9', async ({ bench }) => {
  const first = await bench.desktop()
  const client = await first.client()
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, { title: 'Draft', body: script(say('Ready.')) })
  await waitForTurnEnd(client, session.id, 1)
  const open = async (window: Page) => {
    await window.getByRole('treeitem', { name: /Draft/u }).click()
    return window.getByRole('form', { name: 'Message' }).getByRole('textbox')
  }
  const box = await open(first.window)
  await box.fill('Half a thought')
  const begun = Date.now()
  await waitFor('the draft to be in the data folder', async () =>
    (await readFile(join(bench.dataDir, 'drafts.json'), 'utf8').catch(() => '')).includes(
      'Half a thought',
    ),
  )
  expect(Date.now() - begun).toBeLessThan(2_000)
  await first.kill()
  const second = await bench.desktop()
  await expect(await open(second.window)).toHaveValue('Half a thought')
})
