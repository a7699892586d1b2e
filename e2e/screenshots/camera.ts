import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { readPng, writePng } from './palette-png.ts'

type Size = { readonly width: number; readonly height: number }

export type Camera = {
  /** Takes what is in sight in each theme and size, or in one size. */
  take(name: string, only?: Size): Promise<void>
  /** What was taken, in that order. */
  readonly taken: readonly { readonly path: string; readonly bytes: number }[]
}

const sizes = [
  { suffix: '-narrow', width: 1024, height: 700 },
  { suffix: '', width: 1440, height: 900 },
] as const

/** Fonts, colours of code and the last change of the layout are drawn by then. */
const SETTLE_MS = 450

/** A path of the machine that takes the pictures, and what stands in its place in them. */
export type Shown = readonly [real: string, shown: string]

/** Writes neutral paths into what is drawn; the next drawing of a text brings its own back. */
async function hidePaths(window: Page, paths: readonly Shown[]): Promise<void> {
  await window.evaluate((pairs) => {
    const neutral = (text: string) =>
      pairs.reduce((found, [real, shown]) => found.replaceAll(real, shown), text)
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const { currentNode: node } = texts
      const text = node.textContent ?? ''
      if (neutral(text) !== text) node.textContent = neutral(text)
    }
    for (const box of document.querySelectorAll<HTMLInputElement>('input, textarea')) {
      if (neutral(box.value) !== box.value) box.value = neutral(box.value)
    }
  }, paths)
}

/** `paths`: the longer of two that begin alike comes first. */
export function createCamera(window: Page, folder: string, paths: readonly Shown[]): Camera {
  const taken: { path: string; bytes: number }[] = []
  const shoot = async (path: string) => {
    // A pointer over something would be part of the picture.
    await window.mouse.move(0, 0)
    await window.waitForTimeout(SETTLE_MS)
    await hidePaths(window, paths)
    const picture = await window.screenshot({ animations: 'disabled', caret: 'hide' })
    const small = writePng(readPng(picture))
    await writeFile(path, small)
    taken.push({ path, bytes: small.length })
  }
  return {
    taken,
    take: async (name, only) => {
      await mkdir(folder, { recursive: true })
      for (const scheme of ['dark', 'light'] as const) {
        await window.emulateMedia({ colorScheme: scheme })
        await expect(window.locator('html')).toHaveAttribute('data-theme', scheme)
        for (const { suffix, width, height } of only === undefined
          ? sizes
          : [{ suffix: '', ...only }]) {
          await window.setViewportSize({ width, height })
          await shoot(join(folder, `${name}${suffix}-${scheme}.png`))
        }
      }
    },
  }
}
