import { expect } from '@playwright/test'
import { serious } from '../../support/accessibility.ts'
import { bash, say, script, write } from '../../support/steps.ts'
import { addProject, startTicket, waitForEvent, waitForTurnEnd } from '../../support/watch.ts'
import { runByName, timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

for (const scheme of ['light', 'dark'] as const) {
  test(`the main views have no serious fault in accessibility (${scheme})`, async ({ bench }) => {
    const desktop = await bench.desktop()
    const { window } = desktop
    await window.emulateMedia({ colorScheme: scheme })
    await expect(window.locator('html')).toHaveAttribute('data-theme', scheme)
    await expect(window.getByRole('region', { name: 'Fleet' })).toBeVisible()
    expect(await serious(window), 'nothing yet').toEqual([])

    await window.keyboard.press('Control+Shift+N')
    await expect(window.getByLabel('Name', { exact: true })).toBeVisible()
    expect(await serious(window), 'new project').toEqual([])

    const client = await desktop.client()
    await addProject(client, (await bench.remote()).path)
    await expect(window.getByRole('treeitem', { name: /Shop/u })).toBeVisible()
    await window.keyboard.press('Control+N')
    await expect(window.getByLabel('Title', { exact: true })).toBeVisible()
    expect(await serious(window), 'new ticket').toEqual([])

    const { session } = await startTicket(client, {
      title: 'Views',
      body: script(
        {
          thinking: 'I think of it.',
          ...bash('exit 3', 'This **fails**:\n\n```js\nlet a = 1\n```'),
        },
        write('a.txt', 'a\n'),
        { text: '- [link](https://example.org)\n\n| a | b |\n|---|---|\n| 1 | 2 |' },
      ),
    })
    await waitForTurnEnd(client, session.id, 1)
    await window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
    await expect(timelineRegion(window).getByRole('link', { name: 'link' })).toBeVisible()
    expect(await serious(window), 'session').toEqual([])

    const page = async (keys: string, heading: string | RegExp) => {
      await window.keyboard.press(keys)
      await expect(window.getByRole('heading', { name: heading })).toBeVisible()
      expect(await serious(window), String(heading)).toEqual([])
    }
    await page('Control+E', /^Edit SHOP-/u)
    await window.getByRole('button', { name: 'Cancel' }).click()
    await expect(window.getByRole('button', { name: 'Open the session' })).toBeVisible()
    expect(await serious(window), 'ticket').toEqual([])
    await page('Control+,', 'Settings')
    await runByName(window, 'Edit this project')
    await expect(window.getByRole('heading', { name: 'Project Shop' })).toBeVisible()
    expect(await serious(window), 'project').toEqual([])
    await runByName(window, 'Check this machine')
    await expect(window.getByRole('cell', { name: 'Claude Code' })).toBeVisible()
    expect(await serious(window), 'check').toEqual([])
    await runByName(window, 'Keyboard')
    await expect(window.getByRole('dialog', { name: 'Keyboard' })).toBeVisible()
    expect(await serious(window), 'keyboard').toEqual([])
    await window.keyboard.press('Escape')

    await addProject(client, (await bench.remote({ name: 'asking.git' })).path, {
      name: 'Asking',
      permission: 'ask',
    })
    const { session: asking } = await startTicket(client, {
      project: 'Asking',
      title: 'Asks',
      body: script(bash('touch a-file'), say('Never.')),
    })
    await waitForEvent(client, asking.id, 'request.opened')
    await client.sessions.send({ ref: asking.id, text: 'Queued behind the request.' })
    await window.getByRole('treeitem', { name: /Asks/u }).click()
    await expect(window.getByRole('list', { name: 'Queued inputs' })).toBeVisible()
    await window.keyboard.press('Control+Shift+A')
    await expect(window.getByRole('region', { name: /^Permission request/u })).toBeFocused()
    expect(await serious(window), 'request').toEqual([])
    await window.keyboard.press('d')
    expect(await serious(window), 'denying').toEqual([])
    await window.keyboard.press('Escape')
    await page('Control+Shift+R', 'Inbox')

    await window.keyboard.press('Control+Shift+F')
    expect(await serious(window), 'fleet').toEqual([])
    await window.keyboard.press('Control+K')
    await expect(window.getByRole('dialog')).toBeVisible()
    expect(await serious(window), 'palette').toEqual([])
  })
}
