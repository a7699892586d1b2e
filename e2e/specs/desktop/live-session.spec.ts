import { writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import type { DesktopApp } from '../../support/desktop-app.ts'
import { isAlive } from '../../support/process-tree.ts'
import { bash, say, script, untilFile } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { makeTall, shownRows, timelineRegion, withoutChance } from '../../support/window.ts'
import { test, type Workbench } from '../../support/workbench.ts'

async function opened(bench: Workbench, title: string, body: string) {
  const desktop = await bench.desktop()
  const client = await desktop.client()
  await makeTall(desktop.window)
  await addProject(client, (await bench.remote()).path)
  const session = await begun(desktop, title, body)
  return { desktop, client, window: desktop.window, session }
}

/** A new session that the window shows. */
async function begun(desktop: DesktopApp, title: string, body: string): Promise<Session> {
  const client = await desktop.client()
  const { session } = await startTicket(client, { title, body })
  await desktop.window.getByRole('treeitem', { name: new RegExp(session.ticket, 'u') }).click()
  await expect(timelineRegion(desktop.window)).toHaveAttribute('data-session', session.id)
  return session
}

test('a session is seen while it streams, as Markdown, with its tools and their output', async ({
  bench,
}) => {
  const { client, window, session } = await opened(
    bench,
    'Stream',
    script(
      {
        text: '# Heading\n\nThe **first** part and then',
        chunks: 2,
        gate: 'rest',
        ...bash('echo shown-output'),
      },
      say('The end.'),
    ),
  )
  const timeline = timelineRegion(window)
  await expect(timeline.getByText('Heading')).toBeVisible()
  // The finished block is not there yet: what is seen is live.
  expect((await timelineOf(client, session.id)).map(({ kind }) => kind)).not.toContain(
    'assistant.text',
  )
  bench.model.release('rest')
  await waitForTurnEnd(client, session.id, 1)
  await expect(timeline.getByRole('heading', { name: 'Heading' })).toBeVisible()
  await expect(timeline.locator('strong', { hasText: 'first' })).toBeVisible()
  await expect(timeline.getByText('echo shown-output')).toBeVisible()
  await expect(timeline.getByText('The end.')).toBeVisible()
  const { costUsd } = await client.sessions.show({ ref: session.id })
  expect(costUsd).toBeGreaterThan(0)
  await expect(window.getByText(/\$0\.\d+/u).first()).toBeVisible()
})

test('a message that is written while a turn runs is shown as queued, then delivered', async ({
  bench,
}) => {
  const done = bench.path('done')
  const { client, window, session } = await opened(
    bench,
    'Queue',
    script(bash(untilFile(done)), say('Turn one is over.')),
  )
  await waitForEvent(client, session.id, 'tool.call')
  const composer = window.getByRole('form', { name: 'Message' })
  await composer.getByRole('textbox').fill('Late-word from the window')
  await composer.getByRole('textbox').press('Enter')
  const queued = window.getByRole('list', { name: 'Queued inputs' })
  await expect(queued.getByText('Late-word from the window')).toBeVisible()
  await expect(composer.getByRole('textbox')).toHaveValue('')
  await writeFile(done, '')
  await waitForTurnEnd(client, session.id, 2)
  await expect(queued).toHaveCount(0)
  await expect(timelineRegion(window).getByText('Late-word from the window').first()).toBeVisible()
  const after = await client.sessions.show({ ref: session.id })
  checkTimeline(await timelineOf(client, session.id), after)
  const requests = requestsOf(bench.model, after.conversation)
  expect(requests.map((request) => timesSaid(request, 'Late-word'))).toEqual([0, 0, 1])
})

test('Escape in the message box interrupts the turn', async ({ bench }) => {
  const { client, window, session } = await opened(
    bench,
    'Interrupt',
    script(bash('sleep 308', 'Sleeping now.'), say('Never.')),
  )
  const sleeping = await bench.process('sleep 308')
  const composer = window.getByRole('form', { name: 'Message' })
  await composer.getByRole('textbox').focus()
  const at = performance.now()
  await window.keyboard.press('Escape')
  await waitFor('the end of sleep', async () => !(await isAlive(sleeping)), { everyMs: 5 })
  const tookMs = Math.round(performance.now() - at)
  console.log(`Escape → the tool's process is gone: ${tookMs} ms`)
  expect(tookMs).toBeLessThan(1_000)
  await waitForTurnEnd(client, session.id, 1)
  await expect(
    timelineRegion(window)
      .getByText(/Interrupted/u)
      .first(),
  ).toBeVisible()
  await composer.getByRole('textbox').fill('Next-word')
  await composer.getByRole('textbox').press('Enter')
  await waitForTurnEnd(client, session.id, 2)
  const after = await client.sessions.show({ ref: session.id })
  checkTimeline(await timelineOf(client, session.id), after)
  const last = requestsOf(bench.model, after.conversation).at(-1)
  expect(seenIn(last)).toContain('Sleeping now.')
  expect(timesSaid(last, 'Next-word')).toBe(1)
})

test('a window that is reloaded in the middle of a stream shows what an undisturbed one shows', async ({
  bench,
}) => {
  const text = Array.from({ length: 120 }, (_, index) => `word${index}`).join(' ')
  const body = script(
    bash('seq 5', 'Before.'),
    {
      ...bash('echo after', text),
      thinking: 'I think of it.',
      chunks: 40,
      delay: 20,
      gate: 'stream',
    },
    say('The end.'),
  )
  const undisturbed = async (session: Session) => {
    bench.model.release('stream')
    await waitForTurnEnd(client, session.id, 1)
    const { lastSeq } = await client.sessions.show({ ref: session.id })
    return shownRows(window, lastSeq)
  }
  const { desktop, client, window, session: first } = await opened(bench, 'First', script(say('.')))
  // The first session of a project has a clone to tell of that the others have not.
  await waitForTurnEnd(client, first.id, 1)
  const session = await begun(desktop, 'Reload', body)
  const expected = await undisturbed(session)
  const events = await timelineOf(client, session.id)

  bench.model.reset()
  const second = await begun(desktop, 'Reload', body)
  const timeline = timelineRegion(window)
  await expect(timeline.getByText('Before.')).toBeVisible()
  const { conversation } = await client.sessions.show({ ref: second.id })
  await bench.model.waitFor(
    (request) => request.session === conversation && request.step?.index === 1,
  )
  // Once before the first piece is let through, twice while pieces come in.
  await window.reload()
  await expect(timelineRegion(window)).toHaveAttribute('data-session', second.id)
  bench.model.release('stream')
  await expect(timeline.getByText(/word5 /u)).toBeVisible()
  await window.reload()
  await expect(timeline.getByText(/word20 /u)).toBeVisible()
  await window.reload()
  await waitForTurnEnd(client, second.id, 1)

  const after = await client.sessions.show({ ref: second.id })
  const secondEvents = await timelineOf(client, second.id)
  checkTimeline(secondEvents, after)
  // When the runtime writes down what it was given is its own affair; everything else stands in one order.
  const kinds = (of: readonly TimelineEvent[]) =>
    of.map(({ kind }) => kind).filter((kind) => kind !== 'input.delivered')
  expect(kinds(secondEvents)).toEqual(kinds(events))
  const rows = await shownRows(window, after.lastSeq)
  expect(withoutChance(rows)).toEqual(withoutChance(expected))
  expect(rows.map((row) => row.text).join(' ')).toContain(text)
  await window.reload()
  expect(await shownRows(window, after.lastSeq)).toEqual(rows)
})
