import { expect, type Page } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { serious } from '../../support/accessibility.ts'
import { ask, assume, plannerSays, waitForQuestions } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { timelineRegion } from '../../support/window.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const RULES = '# Rules\n\nEverything is kept in SQLite,\nand nothing else.\n'
const files = { 'README.md': '# Shop\n', 'docs/rules.md': RULES }

const LIMITER = {
  question: 'Which limiter?',
  context: 'Both are in the *standard* library.',
  options: [
    { label: 'Sliding window', detail: 'exact, more memory', recommended: true },
    { label: 'Token bucket' },
  ],
}
const NAMES = {
  question: 'Which names stay?',
  multiple: true,
  options: [{ label: 'Cart' }, { label: 'Basket' }, { label: 'Bag' }],
}

async function opened(bench: Workbench, more: Parameters<typeof addProject>[2] = {}) {
  const desktop = await bench.desktop()
  const client = await desktop.client()
  await addProject(client, (await bench.remote({ files })).path, more)
  return { desktop, client, window: desktop.window }
}

async function asks(client: BalletClient, ...steps: Parameters<typeof script>): Promise<Session> {
  const { session } = await startTicket(client, { body: script(...steps, say('I asked.')) })
  await waitForTurnEnd(client, session.id, 1)
  return session
}

const card = (window: Page, key: string | RegExp) =>
  window.getByRole('region', { name: typeof key === 'string' ? `Question ${key}` : key })
const list = (window: Page) => window.getByRole('list', { name: 'What waits for you' })

async function lastSeen(bench: Workbench, client: BalletClient, ref: string): Promise<string> {
  const { conversation } = await client.sessions.show({ ref })
  return seenIn(requestsOf(bench.model, conversation).at(-1))
}

async function expectGood(client: BalletClient, ref: string): Promise<void> {
  const session = await client.sessions.show({ ref })
  checkTimeline(await timelineOf(client, session.id), session)
}

test('a question is answered in the inbox by keyboard, and taken back before it is sent', async ({
  bench,
}) => {
  const { client, window } = await opened(bench)
  const { keyboard } = window
  await keyboard.press('Control+B')
  await expect(window.getByText('Nothing waits for you.')).toBeVisible()
  const session = await asks(client, ask(LIMITER))
  const inbox = window.getByRole('button', { name: /^Inbox/u })
  await expect(inbox).toContainText('1')

  // All that is needed stands on the card.
  await expect(card(window, 'SHOP-1-Q1')).toBeFocused()
  await expect(card(window, 'SHOP-1-Q1')).toContainText('Both are in the standard library.')
  await expect(card(window, 'SHOP-1-Q1')).toContainText('recommended')
  await expect(window.getByText('I asked.')).toBeVisible()
  await keyboard.press('Enter')
  await expect(window.getByText('Pick 1 to 2, or write an answer.')).toBeVisible()

  await keyboard.press('1')
  await keyboard.press('Enter')
  await expect(window.getByText('SHOP-1-Q1 answered: Sliding window')).toBeVisible()
  await keyboard.press('u')
  await expect(card(window, 'SHOP-1-Q1')).toBeFocused()
  expect(await client.questions.show({ ref: 'SHOP-1-Q1' })).toMatchObject({ state: 'open' })

  await keyboard.press('2')
  await keyboard.press('o')
  await keyboard.type(`Only at the edge. ${script(say('Understood.'))}`)
  await keyboard.press('Enter')
  await expect(list(window)).not.toContainText('Which limiter?')
  await waitForTurnEnd(client, session.id, 2)
  const seen = await lastSeen(bench, client, session.id)
  expect(seen).toContain('Question: Which limiter?')
  expect(seen).toMatch(/Answer: Token bucket\s+Only at the edge\./u)
  expect(seen).toContain('Answered by: a person')
  const answers = ofKind(await timelineOf(client, session.id), 'question.answered')
  expect(answers).toMatchObject([{ author: 'person', options: [2] }])

  // What was answered is found again, and stands where it was asked.
  await window.getByRole('button', { name: 'Answered' }).click()
  await keyboard.type('edge')
  await expect(window.getByRole('list', { name: 'Answered questions' })).toContainText('by you')
  await expect(card(window, 'SHOP-1-Q1')).toContainText('Only at the edge.')
  await window
    .getByRole('group', { name: 'Shown' })
    .getByRole('button', { name: /^Waiting/u })
    .click()
  await window.getByRole('treeitem', { name: /SHOP-1/u }).click()
  await expect(timelineRegion(window).getByText('Answered by you')).toBeVisible()
  await expectGood(client, session.id)
})

test('five questions of two agents are answered by keyboard alone, each in less than a second', async ({
  bench,
}) => {
  const { client, window } = await opened(bench)
  const { keyboard } = window
  const one = await asks(client, ask(LIMITER, NAMES, { question: 'What is it called?' }))
  const two = await asks(client, ask({ ...LIMITER, urgency: 'high' }, NAMES))
  // Before the inbox is open: what comes later takes nobody's place, however urgent.
  await expect(window.getByRole('button', { name: /^Inbox/u })).toContainText('5')
  await keyboard.press('Control+B')

  // The urgent one first, then by how long they wait; each with the keys that answer it.
  const work: [RegExp, string[]][] = [
    [/SHOP-2-Q1/u, ['1', 'Enter']],
    [/SHOP-1-Q1/u, ['2', 'Enter']],
    [/SHOP-1-Q2/u, ['1', '3', 'Enter']],
    [/SHOP-1-Q3/u, ['Enter', 'B', 'a', 'g', 'Enter']],
    [/SHOP-2-Q2/u, ['d', 'Enter']],
  ]
  const took: number[] = []
  for (const [key, keys] of work) {
    await expect(card(window, key)).toBeFocused()
    const begun = Date.now()
    for (const each of keys) await keyboard.press(each)
    await waitFor('the answer to be taken', async () => (await card(window, key).count()) === 0)
    took.push(Date.now() - begun)
  }
  expect(Math.max(...took), String(took)).toBeLessThan(1_000)

  await waitForTurnEnd(client, one.id, 2)
  await waitForTurnEnd(client, two.id, 2)
  const seen = await lastSeen(bench, client, one.id)
  for (const text of ['Answer: Token bucket', 'Answer: Cart, Bag', 'Answer: Bag']) {
    expect(seen).toContain(text)
  }
  expect(await lastSeen(bench, client, two.id)).toContain('Answer: Decide yourself.')
  // Those of one turn go together.
  const inputs = await client.sessions.inputs({ ref: one.id })
  expect(inputs.filter(({ inputKind }) => inputKind === 'answer')).toHaveLength(1)
})

test('a second Enter allows no request to which the inbox jumped, and Undo goes back', async ({
  bench,
}) => {
  const { client, window } = await opened(bench, { permission: 'ask' })
  const { keyboard } = window
  await asks(client, ask({ ...LIMITER, urgency: 'high' }))
  const asking = script(bash('touch unread-file'), say('It is there.'))
  const { session } = await startTicket(client, { body: asking })
  await waitForEvent(client, session.id, 'request.opened')
  await keyboard.press('Control+B')
  await expect(card(window, 'SHOP-1-Q1')).toBeFocused()
  // For as long as this page's clock stands still, nobody had the time to read what came.
  await window.evaluate(() => {
    const now = performance.now()
    performance.now = () => now
  })
  await keyboard.press('1')
  await keyboard.press('Enter')
  const request = window.getByRole('region', { name: /^Permission request/u })
  await expect(request).toBeFocused()
  for (let presses = 0; presses < 3; presses += 1) await keyboard.press('Enter')
  await keyboard.press('s')
  await keyboard.press('u')
  await expect(card(window, 'SHOP-1-Q1')).toBeFocused()
  expect(await client.requests.list({ session: session.id })).toMatchObject([{ state: 'open' }])
  await window.evaluate(() => Reflect.deleteProperty(performance, 'now'))

  // Who goes there themselves is not kept waiting.
  await keyboard.press('j')
  await expect(request).toBeFocused()
  await keyboard.press('Enter')
  await waitForTurnEnd(client, session.id, 1)
  await expect(card(window, 'SHOP-1-Q1')).toBeFocused()
  await expectGood(client, session.id)
})

test('a citation opens its source at the place, and an answer of the planner is overturned', async ({
  bench,
}) => {
  const { client, window } = await opened(bench, { planner: true })
  const citation = {
    source: 'docs/rules.md',
    place: 'Rules',
    quote: 'Everything is kept in SQLite, and nothing else.',
  }
  const answered = {
    question: `Which store?${plannerSays({ answer: `SQLite. ${script(say('Kept.'))}`, citations: [citation] })}`,
  }
  const { session } = await startTicket(client, { body: script(ask(answered), say('I asked.')) })
  await waitForEvent(client, session.id, 'question.answered', () => true, { timeoutMs: 60_000 })
  expect(await client.inbox.list({ kind: 'question' })).toEqual([])
  await window.getByRole('treeitem', { name: /SHOP-1/u }).click()
  await expect(timelineRegion(window).getByText('Answered by the planner')).toBeVisible()
  await timelineRegion(window).getByRole('button', { name: 'docs/rules.md:3' }).click()
  const source = window.getByRole('dialog', { name: 'Source docs/rules.md' })
  await expect(source.locator('mark').first()).toHaveText('Everything is kept in SQLite,')
  await expect(source.locator('mark').last()).toHaveText('and nothing else.')
  expect(await serious(window), 'source').toEqual([])
  await window.keyboard.press('Escape')

  await timelineRegion(window).getByRole('button', { name: 'Overturn…' }).click()
  await window.keyboard.type(`No: Postgres. ${script(say('Changed.'))}`)
  await window.keyboard.press('Enter')
  await waitForEvent(
    client,
    session.id,
    'question.answered',
    ({ author, overturns }) => author === 'person' && overturns === true,
  )
  await expect(
    timelineRegion(window).getByText('Answered by the planner, overturned'),
  ).toBeVisible()
  await waitForTurnEnd(client, session.id, 3)
  expect(await lastSeen(bench, client, session.id)).toContain('No: Postgres.')
  await expectGood(client, session.id)
})

test('inbox, question and answer window have no serious fault, and what others answered is told', async ({
  bench,
}) => {
  const { client, window } = await opened(bench)
  const { keyboard } = window
  const assumption = {
    assumption: 'Mails keep their dates.',
    reason: 'Nobody asked for a change.',
    alternatives: ['one format'],
  }
  const session = await asks(client, assume(assumption), ask(LIMITER, NAMES))
  const [first, second] = await waitForQuestions(client, session.id, 2)
  await keyboard.press('Control+B')
  await expect(card(window, 'SHOP-1-Q1')).toBeFocused()
  expect(await serious(window), 'inbox').toEqual([])
  await keyboard.press('d')
  expect(await serious(window), 'declining').toEqual([])
  await keyboard.press('Escape')

  // Answered by somebody else while it is looked at.
  await client.questions.answer({ ref: first?.id ?? '', options: [1], sendNow: true })
  await expect(window.getByText('This question is over: it was ended elsewhere.')).toBeVisible()
  await expect(card(window, 'SHOP-1-Q1')).toContainText('Answered by you')
  expect(await serious(window), 'ended elsewhere').toEqual([])
  await keyboard.press('Enter')
  await expect(card(window, 'SHOP-1-Q2')).toBeFocused()

  await keyboard.press('j')
  await expect(window.getByRole('region', { name: 'Assumption' })).toBeFocused()
  expect(await serious(window), 'assumption').toEqual([])
  await keyboard.press('Enter')
  await expect(window.getByRole('region', { name: 'Assumption' })).toHaveCount(0)
  expect(await client.assumptions.list({ ticket: 'SHOP-1' })).toMatchObject([
    { state: 'confirmed' },
  ])
  await window.getByRole('button', { name: 'Answered' }).click()
  await expect(window.getByRole('list', { name: 'Answered questions' })).toContainText('SHOP-1-Q1')
  expect(await serious(window), 'answered').toEqual([])

  // The page of the small window, shown in this one.
  await window.evaluate((id) => {
    location.hash = `#answer/${id}`
  }, second?.id ?? '')
  await window.reload()
  await expect(card(window, 'SHOP-1-Q2')).toBeFocused()
  expect(await serious(window), 'answer window').toEqual([])
  await keyboard.press('2')
  await keyboard.press('Enter')
  await expect(window.getByText('SHOP-1-Q2 answered: Basket')).toBeVisible()
  expect(await serious(window), 'answered in its window').toEqual([])
})
