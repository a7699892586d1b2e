import { createHash } from 'node:crypto'
import type { Page } from '@playwright/test'
import { timelineRegion } from '../e2e/support/window.ts'
import { BlobId } from '../src-shared/ids.ts'
import type { Bench } from './bench.ts'
import { atMost, figure, type Goal, spread } from './figures.ts'
import { installBench } from './in-window.ts'
import { type Sample, words } from './sample-events.ts'
import { append, openStorage, type StoredSession, storeSessions } from './stored-world.ts'

const SIZE = 200 * 1_024
const INLINE = 16 * 1_024
/** Ends the answer. */
const END = 'end-of-the-answer'
const AT = '2026-01-01T00:00:00.000Z'

export const largeOutput: Bench = {
  name: 'large output',
  method: `A tool's output of 200 KB (lines of 80 characters) and an answer of 200 KB (Markdown), each in a session of its
own in the built application. The output: from the press of “Show all” to the frame that shows it in a box of its own.
The answer: from the click on its session, or the press of what shows the rest of it, to the frame in which its end is in
the page; what is not there within 10 s counts as 10 s. The longest frame is the longest time between two frames from
the press to 300 ms after that. That both are kept whole is looked up in the host.`,
  run: async (workbench, { brief }) => {
    const output = lines(SIZE)
    const answer = markdown(SIZE)
    const storage = await openStorage(workbench.dataDir)
    const [ofOutput, ofAnswer, other] = await storeSessions(storage, 3)
    if (ofOutput === undefined || ofAnswer === undefined || other === undefined) {
      throw new Error('none')
    }
    await append(storage, ofOutput.id, [...turn(), ...toolEvents(output)], 100, [blobOf(output)])
    await append(storage, ofAnswer.id, [...turn(), answerEvent(answer)], 100, [blobOf(answer)])
    await append(storage, other.id, turn(), 100)
    await storage.close()
    const desktop = await workbench.desktop()
    const client = await desktop.client()
    for (const [session, text] of [
      [ofOutput, output],
      [ofAnswer, answer],
    ] as const) {
      const blob = await client.timeline.blob({ session: session.id, blob: idOf(text) })
      if (blob.text !== text) throw new Error(`${session.key} was not kept whole.`)
    }
    const page = desktop.window
    await page.setViewportSize({ width: 1280, height: 800 })
    const rounds = brief ? 1 : 8
    const shown: Shown[] = []
    const answered: Shown[] = []
    for (let round = 0; round < rounds; round += 1) {
      shown.push(await showOutput(page, other, ofOutput))
      answered.push(await showAnswer(page, other, ofAnswer))
    }
    return [...figures('a 200 KB tool output', shown), ...figures('a 200 KB answer', answered)]
  },
}

type Shown = { readonly ms: number; readonly longest: number }

function figures(what: string, shown: readonly Shown[]) {
  const facts = { bench: 'large output', unit: 'ms', samples: shown.length } as const
  const frames: Goal = atMost('max', 50, 'no frame over 50 ms')
  return [
    figure(
      { ...facts, what: `${what}: shown whole`, values: spread(shown.map(({ ms }) => ms)) },
      atMost('max', 500, 'shown in 500 ms'),
    ),
    figure(
      { ...facts, what: `${what}: the longest frame`, values: spread(shown.map((s) => s.longest)) },
      frames,
    ),
  ]
}

/** What was not shown within this counts as so long. */
const LIMIT_MS = 10_000

async function showOutput(
  page: Page,
  other: StoredSession,
  session: StoredSession,
): Promise<Shown> {
  await openAnew(page, other)
  await itemOf(page, session).click()
  const timeline = timelineRegion(page)
  const head = timeline.locator('.tl-tool-head').last()
  if ((await head.getAttribute('aria-expanded')) !== 'true') await head.click()
  return timeline
    .getByRole('button', { name: /^Show all/u })
    .evaluate(
      (button, limitMs) =>
        window.bench.press(
          button,
          () => (document.querySelector('.lines[aria-label=Output] pre')?.textContent ?? '') !== '',
          limitMs,
        ),
      LIMIT_MS,
    )
}

async function showAnswer(
  page: Page,
  other: StoredSession,
  session: StoredSession,
): Promise<Shown> {
  await openAnew(page, other)
  const opened = await itemOf(page, session).evaluate(
    (item, { limitMs, end }) =>
      window.bench.press(
        item,
        () => {
          const text = document.querySelector('[aria-label=Timeline]')?.textContent ?? ''
          return text.includes(end) || /Show (all|the (rest|whole))/u.test(text)
        },
        limitMs,
      ),
    { limitMs: LIMIT_MS, end: END },
  )
  const more = timelineRegion(page).getByRole('button', { name: /^Show (all|the (rest|whole))/u })
  if ((await more.count()) === 0) return opened
  return more
    .last()
    .evaluate(
      (button, { limitMs, end }) =>
        window.bench.press(
          button,
          () =>
            document.querySelector('[aria-label=Timeline]')?.textContent?.includes(end) === true ||
            document.querySelector('.lines') !== null,
          limitMs,
        ),
      { limitMs: LIMIT_MS, end: END },
    )
}

/** Loads the window anew, on the other session. */
async function openAnew(page: Page, other: StoredSession): Promise<void> {
  await itemOf(page, other).click()
  const region = page.locator(`[aria-label=Timeline][data-session="${other.id}"]`)
  await region.waitFor()
  await page.reload()
  await region.waitFor()
  await installBench(page)
}

function itemOf(page: Page, { key }: StoredSession) {
  return page.getByRole('treeitem', { name: new RegExp(`${key}\\b`, 'u') })
}

function turn(): Sample[] {
  return [{ at: AT, body: { kind: 'turn.started', turn: 1, inputs: [] } }]
}

function toolEvents(output: string): Sample[] {
  const call = { turn: 1, callId: 'call-1' } as const
  const command = { title: 'npm test', input: '{"command":"npm test"}' }
  return [
    { at: AT, body: { kind: 'tool.call', ...call, ...command, name: 'Bash', toolKind: 'execute' } },
    {
      at: AT,
      body: {
        ...{ kind: 'tool.result', ...call, status: 'ok', output: output.slice(0, INLINE) },
        outputBlob: idOf(output),
        outputBytes: output.length,
      },
    },
  ]
}

function answerEvent(text: string): Sample {
  const cut = { text: text.slice(0, INLINE), textBlob: idOf(text) }
  return { at: AT, body: { kind: 'assistant.text', turn: 1, ...cut } }
}

function blobOf(text: string) {
  return { id: idOf(text), text }
}

function idOf(text: string): BlobId {
  return BlobId.parse(createHash('sha256').update(text).digest('hex'))
}

function lines(size: number): string {
  const count = Math.floor(size / 80)
  return Array.from({ length: count }, (_, index) => words(index, 79)).join('\n')
}

function markdown(size: number): string {
  let text = ''
  for (let part = 0; text.length < size; part += 1) {
    text += `## Part ${part}\n\n${words(part, 400)}\n\n- **one** ${words(part + 1, 60)}\n- \`two\` ${words(part + 2, 60)}\n\n`
    if (part % 5 === 0) text += `\`\`\`ts\nconst part = ${part}\nexport { part }\n\`\`\`\n\n`
  }
  return `${text.slice(0, size - END.length - 2)}\n\n${END}`
}
