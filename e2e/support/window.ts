import type { Locator, Page } from '@playwright/test'
import { waitFor } from './wait-for.ts'

/** Runs a command by its name, as soon as the window takes keys. */
export async function runByName(window: Page, name: string): Promise<void> {
  await window.getByRole('button', { name: /^Search or command/u }).waitFor()
  await window.keyboard.press('Control+K')
  await window.getByRole('dialog').getByRole('combobox').fill(name)
  await window.keyboard.press('Enter')
}

/** One row of the timeline as a person sees it. */
export type ShownRow = { readonly kind: string; readonly seq: string; readonly text: string }

export function timelineRegion(window: Page): Locator {
  return window.getByRole('region', { name: 'Timeline' })
}

/**
 * The rows of the timeline that is shown, in their order, as soon as it shows everything up to event `last`. Only what
 * is in sight is drawn, so the window must be tall enough for all of it.
 */
export async function shownRows(window: Page, last: number): Promise<ShownRow[]> {
  const region = timelineRegion(window)
  await waitFor(
    `the timeline to show event ${last}`,
    async () => Number(await region.getAttribute('data-last')) >= last,
  )
  return region.evaluate((element) => {
    const words = (row: HTMLElement) => {
      const texts: string[] = []
      const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
      while (walker.nextNode()) texts.push(walker.currentNode.textContent ?? '')
      return texts.join(' ').replaceAll(/\s+/g, ' ').trim()
    }
    return [...element.querySelectorAll<HTMLElement>('[data-index]')]
      .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index))
      .map((row) => ({
        kind: row.dataset.kind ?? '',
        seq: row.dataset.seq ?? '',
        text: words(row),
      }))
  })
}

/** Without what differs between two runs of the same: numbers of events, times, durations, costs, keys, folders. */
export function withoutChance(rows: readonly ShownRow[]): string[] {
  return rows.map(({ kind, text }) => {
    const same = text
      .replaceAll(/\b\d{1,2}:\d{2}(:\d{2})?\b/gu, '(time)')
      // What took less than a second shows no duration at all.
      .replaceAll(/ ?\b\d+(\.\d+)? ?(ms|s|min|m|h)\b/gu, '')
      .replaceAll(/\$ ?\d+(\.\d+)?/gu, '(cost)')
      .replaceAll(/\b[A-Z][A-Z0-9]*-\d+(-[0-9a-f]{6})?\b/gu, '(key)')
      .replaceAll(/\b[0-9a-f]{7,40}\b/gu, '(hash)')
    return `${kind}: ${same}`
  })
}

/** Makes the window as tall as nothing of a short timeline is out of sight. */
export async function makeTall(window: Page): Promise<void> {
  await window.setViewportSize({ width: 1280, height: 2_400 })
}

/** Moves the focus there with the Tab key alone. */
export async function tabTo(window: Page, target: Locator): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await window.keyboard.press('Tab')
  }
  throw new Error(`The Tab key does not lead to ${target}`)
}
