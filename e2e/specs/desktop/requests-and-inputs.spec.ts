import { writeFile } from 'node:fs/promises'
import { expect, type Page } from '@playwright/test'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { bash, say, script, untilFile, write } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { makeTall, timelineRegion } from '../../support/window.ts'
import { test, type Workbench } from '../../support/workbench.ts'

async function opened(bench: Workbench, body: string, permission: 'ask' | 'full') {
  const desktop = await bench.desktop()
  const client = await desktop.client()
  const { window } = desktop
  await makeTall(window)
  await addProject(client, (await bench.remote()).path, { permission })
  const { session } = await startTicket(client, { title: 'In hand', body })
  await window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
  await expect(timelineRegion(window)).toHaveAttribute('data-session', session.id)
  return { desktop, client, window, session }
}

const card = (window: Page, title: string) =>
  timelineRegion(window)
    .getByRole('region', { name: /^Permission request/u })
    .filter({ hasText: title })

test('what an agent asks is allowed, allowed for the session, and denied with a reason, by keyboard alone', async ({
  bench,
}) => {
  const { client, window, session } = await opened(
    bench,
    script(
      bash('touch first-file'),
      bash('touch denied-file'),
      write('note.txt', 'a line of the note\n'),
      say('All asked.'),
    ),
    'ask',
  )
  const { keyboard } = window
  await expect(card(window, 'touch first-file')).toBeVisible()
  // Seen wherever the session is: as a word, not only as a colour.
  await expect(window.getByRole('treeitem', { name: /In hand.*asks/u })).toBeVisible()
  await expect(
    window.getByRole('region', { name: 'Fleet' }).getByRole('button', { name: /asks/u }),
  ).toBeVisible()

  // It is a row: a window that is loaded again shows it again.
  await window.reload()
  await expect(card(window, 'touch first-file')).toBeVisible()
  await keyboard.press('Control+Shift+A')
  await expect(card(window, 'touch first-file')).toBeFocused()
  await keyboard.press('Enter')
  await expect(timelineRegion(window).getByText('allowed once by you')).toBeVisible()

  await waitForEvent(client, session.id, 'request.opened', ({ title }) => title.includes('denied'))
  await expect(card(window, 'touch denied-file')).toContainText('For this session')
  await keyboard.press('Control+Shift+A')
  await expect(card(window, 'touch denied-file')).toBeFocused()
  await keyboard.press('d')
  await keyboard.type('Reason-word: not this file')
  await keyboard.press('Enter')

  // From the list of all requests; the change is readable there.
  await waitForEvent(client, session.id, 'request.opened', ({ title }) =>
    title.includes('note.txt'),
  )
  // The window knows of it: what comes while the list is open is not decided by a key for a moment.
  await expect(card(window, 'note.txt')).toContainText('For this session')
  await keyboard.press('Control+Shift+R')
  const listed = window.getByRole('region', { name: /^Permission request/u })
  await expect(listed).toBeFocused()
  await expect(listed).toContainText('a line of the note')
  await keyboard.press('s')
  await waitForTurnEnd(client, session.id, 1)
  await window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()

  const timeline = timelineRegion(window)
  await expect(timeline.getByText('allowed for this session by you')).toBeVisible()
  await expect(timeline.getByText('denied by you: Reason-word: not this file')).toBeVisible()
  const events = await timelineOf(client, session.id)
  expect(ofKind(events, 'request.closed').map(({ outcome }) => outcome)).toEqual([
    ...['allowed', 'denied', 'allowed-for-session'],
  ])
  const after = await client.sessions.show({ ref: session.id })
  checkTimeline(events, after)
  expect(after.openRequests).toBe(0)
  expect(seenIn(requestsOf(bench.model, after.conversation).at(-1))).toContain('Reason-word')
})

test('a request that is answered from two sides at once gets one answer, and the window shows it', async ({
  bench,
}) => {
  const { client, window, session } = await opened(
    bench,
    script(bash('touch one-file'), say('Asked once.')),
    'ask',
  )
  await expect(card(window, 'touch one-file')).toBeVisible()
  const [request] = await client.requests.list({ session: session.id })
  await window.keyboard.press('Control+Shift+A')
  await expect(card(window, 'touch one-file')).toBeFocused()
  await Promise.all([
    client.requests.deny({ ref: request?.id ?? '' }).catch(() => undefined),
    window.keyboard.press('Enter'),
  ])
  await waitForTurnEnd(client, session.id, 1)
  const closed = ofKind(await timelineOf(client, session.id), 'request.closed')
  expect(closed).toHaveLength(1)
  const word = closed[0]?.outcome === 'denied' ? 'denied by you' : 'allowed once by you'
  await expect(timelineRegion(window).getByText(word)).toBeVisible()
  await expect(card(window, 'touch one-file')).toHaveCount(0)
})

test('queued inputs are changed in place, put into another order and taken out', async ({
  bench,
}) => {
  const done = bench.path('done')
  const { client, window, session } = await opened(
    bench,
    script(bash(untilFile(done)), say('Turn one is over.')),
    'full',
  )
  const { keyboard } = window
  await waitForEvent(client, session.id, 'tool.call')
  const box = window.getByRole('form', { name: 'Message' }).getByRole('textbox')
  for (const text of ['First-word', 'Second-word', 'Third-word']) {
    await box.fill(text)
    await box.press('Enter')
    await expect(box).toHaveValue('')
  }
  const queue = window.getByRole('list', { name: 'Queued inputs' })
  const lines = queue.getByRole('listitem')
  await expect(lines).toHaveText([/First-word/u, /Second-word/u, /Third-word/u])
  // One that is still being sent is a line too, and takes no key.
  await expect(queue.locator('li[data-input]')).toHaveCount(3)

  // From the empty box upwards: the last one, which goes to the front.
  await box.press('ArrowUp')
  await expect(lines.nth(2)).toBeFocused()
  await keyboard.press('Alt+ArrowUp')
  await expect(lines).toHaveText([/First-word/u, /Third-word/u, /Second-word/u])
  await keyboard.press('Alt+ArrowUp')
  await expect(lines).toHaveText([/Third-word/u, /First-word/u, /Second-word/u])

  await lines.nth(1).focus()
  await keyboard.press('Enter')
  const editor = window.getByRole('textbox', { name: 'Queued message' })
  await expect(editor).toHaveValue('First-word')
  await editor.fill('Changed-word')
  await keyboard.press('Enter')
  await expect(lines).toHaveText([/Third-word/u, /Changed-word/u, /Second-word/u])
  await lines.nth(2).focus()
  await keyboard.press('Delete')
  await expect(lines).toHaveText([/Third-word/u, /Changed-word/u])

  await writeFile(done, '')
  await waitForTurnEnd(client, session.id, 2)
  await expect(queue).toHaveCount(0)
  const after = await client.sessions.show({ ref: session.id })
  checkTimeline(await timelineOf(client, session.id), after)
  const last = requestsOf(bench.model, after.conversation).at(-1)
  expect(timesSaid(last, 'Third-word\n\nChanged-word')).toBe(1)
  expect(timesSaid(last, 'First-word')).toBe(0)
  expect(timesSaid(last, 'Second-word')).toBe(0)
})

test('a steered message reaches the model in the running turn, and the timeline says so', async ({
  bench,
}) => {
  const done = bench.path('done')
  const { client, window, session } = await opened(
    bench,
    // The second tool gives it the time to be with the runtime.
    script(bash(untilFile(done)), bash('sleep 2'), say('Turn one is over.')),
    'full',
  )
  await waitForEvent(client, session.id, 'tool.call')
  const form = window.getByRole('form', { name: 'Message' })
  const box = form.getByRole('textbox')
  await box.fill('Steer-word')
  await expect(form.getByRole('button', { name: /^Steer/u })).toBeVisible()
  await box.press('Alt+Enter')
  await expect(timelineRegion(window).getByText('Steer-word')).toBeVisible()
  await writeFile(done, '')
  await waitForTurnEnd(client, session.id, 1)
  await expect(timelineRegion(window).getByText('steered into this turn')).toBeVisible()
  const after = await client.sessions.show({ ref: session.id })
  expect(after.turn).toBe(1)
  expect(seenIn(requestsOf(bench.model, after.conversation).at(-1))).toContain('Steer-word')
})

/** A PNG of one red point. */
const POINT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

test('a pasted image is sent and shown; what cannot be sent is refused in place', async ({
  bench,
}) => {
  const { client, window, session } = await opened(bench, script(say('Ready.')), 'full')
  await waitForTurnEnd(client, session.id, 1)
  const form = window.getByRole('form', { name: 'Message' })
  const paste = (name: string, type: string) =>
    form.getByRole('textbox').evaluate(
      (element, [base64, file, kind]) => {
        const bytes = Uint8Array.from(atob(base64 ?? ''), (sign) => sign.charCodeAt(0))
        const clipboardData = new DataTransfer()
        clipboardData.items.add(new File([bytes], file ?? '', { type: kind ?? '' }))
        element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }))
      },
      [POINT, name, type],
    )
  await paste('notes.bmp', 'image/bmp')
  await expect(form.getByRole('alert')).toContainText('notes.bmp')
  await paste('point.png', 'image/png')
  await expect(form.getByRole('img', { name: 'point.png' })).toBeVisible()
  await form.getByRole('textbox').fill('Look-word')
  await form.getByRole('textbox').press('Enter')
  await waitForTurnEnd(client, session.id, 2)
  await expect(
    timelineRegion(window).getByRole('button', { name: /^Image 1.*show large/u }),
  ).toBeVisible()
  const after = await client.sessions.show({ ref: session.id })
  const last = requestsOf(bench.model, after.conversation).at(-1)
  expect(JSON.stringify(last?.messages)).toContain(POINT)
})
