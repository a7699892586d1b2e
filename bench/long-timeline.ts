import type { Page } from '@playwright/test'
import { waitFor } from '../e2e/support/wait-for.ts'
import { timelineRegion } from '../e2e/support/window.ts'
import type { Bench } from './bench.ts'
import { atLeast, atMost, type Figure, figure, median, spread } from './figures.ts'
import { installBench } from './in-window.ts'
import { sampleEvents } from './sample-events.ts'
import { append, openStorage, type StoredSession, storeSessions } from './stored-world.ts'

const SHORT = 1_000
const STEP_PX = 90

export const longTimeline: Bench = {
  name: 'long timeline',
  method: `Two stopped sessions with events of ordinary turns, one with 100,000 and one with 1,000, in the built
application. Opening: from the click on the session in the sidebar to the frame that shows the last event, at the end of
the timeline; the window is loaded anew before each, and the two are opened in turns. Scrolling: upwards from the end of
the long one, ${STEP_PX} pixels a frame, so that earlier pages load on the way; measured is the time between two frames, by
the display’s own clock of 60 Hz. A frame that was late shows as one of 33 ms.`,
  run: async (workbench, { brief }) => {
    const many = brief ? 10_000 : 100_000
    const storage = await openStorage(workbench.dataDir)
    const [long, short, other] = await storeSessions(storage, 3)
    if (long === undefined || short === undefined || other === undefined) throw new Error('none')
    await append(storage, long.id, sampleEvents(many), 1_000)
    await append(storage, short.id, sampleEvents(SHORT), 1_000)
    await append(storage, other.id, sampleEvents(20), 1_000)
    await storage.close()
    const page = (await workbench.desktop()).window
    await page.setViewportSize({ width: 1280, height: 800 })
    const rounds = brief ? 1 : 8
    const times: { long: number[]; short: number[] } = { long: [], short: [] }
    for (let round = 0; round <= rounds; round += 1) {
      const ofShort = await openOnce(page, other, short, SHORT)
      const ofLong = await openOnce(page, other, long, many)
      // The first of each is not counted: files and code come from the disk.
      if (round === 0) continue
      times.short.push(ofShort)
      times.long.push(ofLong)
    }
    const facts = { bench: 'long timeline', samples: rounds } as const
    const count = many.toLocaleString('en')
    return [
      figure(
        {
          ...facts,
          what: `${count} events: opened to the last`,
          unit: 'ms',
          values: spread(times.long),
        },
        atMost('p50', 300, 'p50 under 300 ms'),
      ),
      figure({
        ...facts,
        what: '1,000 events: opened to the last',
        unit: 'ms',
        values: spread(times.short),
      }),
      figure(
        {
          ...facts,
          what: `${count} events against 1,000`,
          unit: 'ratio',
          values: { ratio: median(times.long) / median(times.short) },
        },
        atMost('ratio', 1.3, 'at most 1.3 ×'),
      ),
      await scroll(page, brief ? 120 : 900),
    ]
  },
}

/** Milliseconds from the click to the frame that shows the last event; the other session is shown before. */
async function openOnce(
  page: Page,
  other: StoredSession,
  session: StoredSession,
  last: number,
): Promise<number> {
  await itemOf(page, other).click()
  await waitFor(
    'the other session',
    async () => (await timelineRegion(page).getAttribute('data-session')) === other.id,
  )
  await page.reload()
  await waitFor(
    'the window after its reload',
    async () => (await timelineRegion(page).getAttribute('data-session')) === other.id,
  )
  await installBench(page)
  return itemOf(page, session).evaluate(
    async (item, { id, last }) => {
      const begun = window.bench.now()
      ;(item as HTMLElement).click()
      const shown = await window.bench.until(() => {
        const box = document.querySelector<HTMLElement>('[aria-label=Timeline]')
        if (box === null || box.dataset.session !== id) return false
        if (Number(box.dataset.last) < last) return false
        const rows = box.querySelectorAll('[data-index]').length
        return rows > 0 && box.scrollHeight - box.scrollTop - box.clientHeight < 60
      })
      return shown - begun
    },
    { id: session.id, last },
  )
}

function itemOf(page: Page, { key }: StoredSession) {
  return page.getByRole('treeitem', { name: new RegExp(`${key}\\b`, 'u') })
}

async function scroll(page: Page, frames: number): Promise<Figure> {
  const gaps = await timelineRegion(page).evaluate(
    async (box, { frames, step }) => {
      const end = window.bench.frames()
      for (let frame = 0; frame < frames; frame += 1) {
        box.scrollTop -= step
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }
      return end()
    },
    { frames, step: STEP_PX },
  )
  const inTime = gaps.filter((gap) => gap < 17).length / gaps.length
  return figure(
    {
      bench: 'long timeline',
      what: 'scrolling it: frames under 17 ms',
      unit: '%',
      samples: gaps.length,
      values: { share: 100 * inTime },
    },
    atLeast('share', 95, '95 % of frames under 17 ms'),
  )
}
