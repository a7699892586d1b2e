import { expect } from '@playwright/test'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { bash, say, script } from '../../support/steps.ts'
import { addProject, ofKind, startTicket, timelineOf, waitForTurnEnd } from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test } from '../../support/workbench.ts'

const HOSTILE = `<script>window.hit = 1</script> <img src="https://evil.invalid/a.png" onerror="window.hit = 1">
<iframe src="https://evil.invalid/"></iframe> ![pixel](https://evil.invalid/pixel.png)
[run](javascript:window.hit=1) [file](file:///etc/passwd)

Reads as \u202Egnp.exe\u202C, rings\u0007, hides\u200B.`

const TABLE = [
  '| n | name | value |',
  '| --- | --- | --- |',
  ...Array.from({ length: 2_000 }, (_, at) => `| ${at} | row-${at} | ${at * 7} |`),
].join('\n')

test('what an agent writes is text: no element, no request, no hidden sign comes of it', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  const asked: string[] = []
  window.on('request', (request) => asked.push(request.url()))
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, {
    title: 'Hostile',
    body: script(
      { ...bash('printf "\\033]0;title\\007\\033[31mred \\342\\200\\256 turned\\n"', HOSTILE) },
      say(TABLE),
      say('After the table.'),
    ),
  })
  await waitForTurnEnd(client, session.id, 1)
  await window.getByRole('treeitem', { name: /Hostile/u }).click()
  const timeline = timelineRegion(window)
  // The table is long, and so is what is drawn of it kept short.
  await expect(timeline.getByText('row-0', { exact: true })).toBeVisible()
  expect(await timeline.getByRole('row').count()).toBeLessThan(400)
  await timeline.focus()
  await window.keyboard.press('Home')
  await expect(timeline.getByText('<script>window.hit = 1</script>')).toBeVisible()
  await expect(timeline.getByText('⟨U+202E⟩gnp.exe')).toBeVisible()
  await expect(timeline.getByText('red ⟨U+202E⟩ turned')).toBeVisible()
  expect(await timeline.locator('img, iframe, script').count()).toBe(0)
  expect(await timeline.locator('a[href^="javascript:"], a[href^="file:"]').count()).toBe(0)
  expect(await window.evaluate(() => 'hit' in globalThis)).toBe(false)
  expect(asked.filter((address) => address.includes('evil'))).toEqual([])
})

test('a message of 1 MB is pasted beside the box and reaches the model whole', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  await addProject(client, (await bench.remote()).path)
  const { session } = await startTicket(client, { title: 'Paste', body: script(say('Ready.')) })
  await waitForTurnEnd(client, session.id, 1)
  await window.getByRole('treeitem', { name: /Paste/u }).click()
  const form = window.getByRole('form', { name: 'Message' })
  const text = `${'0123456789abcde\n'.repeat(65_536)}The-last-word`
  const tookMs = await form.getByRole('textbox').evaluate((element, pasted) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', pasted)
    const begun = performance.now()
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }))
    return new Promise<number>((resolve) => {
      requestAnimationFrame(() => resolve(performance.now() - begun))
    })
  }, text)
  console.log(`a paste of 1 MB → the next frame: ${Math.round(tookMs)} ms`)
  const pieces = window.getByRole('list', { name: 'Pasted texts' })
  await expect(pieces).toContainText('65,537 lines')
  await form.getByRole('textbox').fill('Before it.')
  await form.getByRole('textbox').press('Enter')
  await waitForTurnEnd(client, session.id, 2)
  await expect(pieces).toHaveCount(0)
  const after = await client.sessions.show({ ref: session.id })
  const seen = seenIn(requestsOf(bench.model, after.conversation).at(-1))
  expect(seen).toContain(`Before it.\n\n${text}`)
})

test('an output of 10 MB is shown whole on demand, and only what is in sight is drawn', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  await addProject(client, (await bench.remote()).path, {
    setup: 'seq -f "line %.0f of what the setup says" 330000',
  })
  const { session } = await startTicket(client, { title: 'Large', body: script(say('Ready.')) })
  await waitForTurnEnd(client, session.id, 1)
  const [result] = ofKind(await timelineOf(client, session.id), 'tool.result')
  expect(result?.outputBytes).toBeGreaterThan(10_000_000)
  await window.getByRole('treeitem', { name: /Large/u }).click()
  const timeline = timelineRegion(window)
  await timeline.getByRole('button', { name: /^Show all/u }).click()
  const whole = timeline.getByRole('region', { name: 'Output' })
  await expect(whole).toBeVisible()
  await whole.focus()
  await window.keyboard.press('End')
  await expect(whole.getByText('line 330000 of what the setup says')).toBeVisible()
  expect(await whole.locator('pre').count()).toBeLessThan(200)
})

test('a thousand tickets: the sidebar draws what is in sight and is moved in by keys', async ({
  bench,
}) => {
  const desktop = await bench.desktop()
  const { window } = desktop
  const client = await desktop.client()
  await addProject(client, (await bench.remote()).path)
  for (let at = 1; at <= 1_000; at += 1) {
    await client.tickets.add({ project: 'Shop', title: `Ticket number ${at}` })
  }
  const lines = window.getByRole('treeitem')
  await expect(lines.filter({ hasText: 'Ticket number 1000' })).toBeVisible()
  expect(await lines.count()).toBeLessThan(100)
  await lines.filter({ hasText: 'Ticket number 1000' }).click()
  await window.keyboard.press('End')
  await expect(lines.filter({ hasText: /SHOP-1 / })).toBeFocused()
  await window.keyboard.press('Enter')
  await expect(window.getByRole('heading', { name: 'SHOP-1 Ticket number 1' })).toBeVisible()
})
