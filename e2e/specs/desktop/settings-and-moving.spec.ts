import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { serious } from '../../support/accessibility.ts'
import { makeRuntimes, testedRuntime, useRuntimes } from '../../support/runtimes.ts'
import { say, script } from '../../support/steps.ts'
import { addProject, startTicket, waitForState, waitForTurnEnd } from '../../support/watch.ts'
import { runByName, timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

const PASSPHRASE = 'four words make one'

test('settings: a runtime is one line that the keyboard opens, and an agent’s fields say what is wrong', async ({
  bench,
}) => {
  const { window, client: connect } = await bench.desktop()
  const client = await connect()
  await expect(window.getByRole('heading', { name: 'Welcome' })).toBeFocused()
  await window.keyboard.press('Control+,')
  const row = (name: string) => window.locator('details.runtime').filter({ hasText: name })
  const claude = row('Claude Code')
  await expect(claude.locator('summary')).toContainText(/\d+\.\d+\.\d+ · logged in/u)
  for (const each of await window.locator('details.runtime').all()) {
    await expect(each).toHaveJSProperty('open', false)
    expect((await each.boundingBox())?.height).toBeLessThan(40)
  }
  await claude.locator('summary').focus()
  await window.keyboard.press('Enter')
  await expect(window.getByLabel('Path of Claude Code')).toBeVisible()
  await window.keyboard.press('Enter')
  await expect(claude).toHaveJSProperty('open', false)

  const form = window.getByRole('form', { name: 'An agent more' })
  await form.getByRole('button', { name: 'Add it' }).press('Enter')
  await expect(form.getByRole('alert')).toHaveText([/needs a name/u, /needs the command/u])
  await expect(form.getByLabel('Name')).toBeFocused()
  await form.getByLabel('Name').fill('My Agent')
  await form.getByLabel('Command line').fill('no-such-agent --acp')
  await expect(form.getByRole('alert')).toHaveText([/“My Agent” is no name/u])
  await form.getByLabel('Name').fill('mine')
  await window.keyboard.press('Enter')
  const added = window.getByRole('list', { name: 'Added agents' })
  await expect(added).toContainText('Not installed. Install it, or give the absolute path')
  // Somebody has to do something for it.
  await expect(row('mine')).toHaveJSProperty('open', true)
  expect(await serious(window)).toEqual([])
  expect((await client.settings.show()).acpAgents).toEqual({
    mine: { title: 'mine', command: 'no-such-agent', args: ['--acp'] },
  })
})

test('continuing begins with another runtime that is here, and says why the same cannot be chosen', async ({
  bench,
}) => {
  const runtimes = await makeRuntimes(bench, [testedRuntime('codex')])
  await useRuntimes(bench.dataDir, runtimes)
  const { window, client: connect } = await bench.desktop({ env: runtimes.env })
  const client = await connect()
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, { body: script(say('This is scripted.')) })
  await waitForTurnEnd(client, session.id, 1)
  await window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
  await expect(timelineRegion(window).getByText('This is scripted.', { exact: true })).toBeVisible()
  await window.keyboard.press('Control+Shift+E')
  const dialog = window.getByRole('dialog')
  const go = dialog.getByRole('button', { name: /^Continue with/u })
  await expect(go).toHaveText(/Continue with Codex/u)
  await expect(go).toHaveAttribute('aria-disabled', 'false')
  await dialog.getByLabel('Runtime').selectOption('claude-code')
  await expect(go).toHaveAttribute('aria-disabled', 'true')
  await expect(dialog.getByRole('status')).toContainText('It runs with Claude Code already')
  await go.press('Enter')
  await expect(dialog).toBeVisible()
  await dialog.getByLabel('Model').fill('another-model')
  await expect(go).toHaveAttribute('aria-disabled', 'false')
  expect(await serious(window)).toEqual([])
})

test('a session is exported and imported in the window, and the export says with which command', async ({
  bench,
}) => {
  const { window, client: connect } = await bench.desktop()
  const client = await connect()
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, { body: script(say('Kept for later.')) })
  await waitForTurnEnd(client, session.id, 1)
  await window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
  await window.getByRole('button', { name: `More for ${session.ticket}` }).click()
  await window.getByRole('menuitem', { name: 'Export…' }).click()
  const dialog = window.getByRole('dialog')
  const file = join(bench.folder, 'out.ballet')
  await dialog.getByLabel('File').fill('out.ballet')
  await dialog.getByLabel('Passphrase').fill('short')
  await window.keyboard.press('Enter')
  await expect(dialog.getByRole('alert')).toHaveText([/whole path/u, /8 characters/u, /differ/u])
  await expect(dialog.getByLabel('File')).toBeFocused()
  await dialog.getByLabel('File').fill(file)
  await dialog.getByLabel('Passphrase').fill(PASSPHRASE)
  await dialog.getByLabel('Once more').fill(PASSPHRASE)
  await window.keyboard.press('Enter')
  await expect(dialog.getByText(`ballet session import ${file}`)).toBeVisible({ timeout: 60_000 })
  expect(await serious(window)).toEqual([])
  await window.keyboard.press('Enter')
  await expect(dialog).toHaveCount(0)
  await expect(window.locator('.comp-over')).toContainText(`ballet session import ${file}`)
  await waitForState(client, session.id, 'moved')
  expect((await readFile(file)).length).toBeGreaterThan(1_000)

  await runByName(window, 'Import a session')
  await dialog.getByLabel('File').fill(file)
  await dialog.getByLabel('Passphrase').fill('four words make two')
  await window.keyboard.press('Enter')
  await expect(dialog.getByRole('alert')).toContainText('passphrase', { timeout: 60_000 })
  await dialog.getByLabel('Passphrase').fill(PASSPHRASE)
  expect(await serious(window)).toEqual([])
  await window.keyboard.press('Enter')
  await expect(dialog).toHaveCount(0, { timeout: 60_000 })
  await expect(window.locator('.pane-head')).toContainText('parked')
  await expect(window.getByRole('region', { name: `${session.ticket} is parked` })).toContainText(
    'it goes on with a message',
  )
})
