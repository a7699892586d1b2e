import type { Page } from '@playwright/test'

/** Pieces that run inside the window. What is passed to `evaluate` must stand alone, so it lies on `window.bench`. */
export type InWindow = {
  /** Resolves right after the next frame is drawn, with the moment (milliseconds since the epoch). */
  drawn(): Promise<number>
  now(): number
  /** Notes the moment at which each new match of the pattern is drawn; the answer ends it and gives what it saw. */
  watch(pattern: string, box: Element): () => [match: string, drawnAt: number][]
  /** Resolves with the moment at which the condition holds and is drawn; looked at after each change of the page. */
  until(condition: () => boolean): Promise<number>
  /**
   * Clicks, and tells how long it takes until the condition holds and is drawn (the limit, where it does not), and the
   * longest time between two frames from the click to 300 ms after that; milliseconds.
   */
  press(
    element: Element,
    condition: () => boolean,
    limitMs: number,
  ): Promise<{ ms: number; longest: number }>
  /** Notes the time between frames (the display's own clock, milliseconds); the answer ends it. */
  frames(): () => number[]
}

declare global {
  interface Window {
    bench: InWindow
  }
}

/**
 * Puts `window.bench` into the page. Drawn means that the window's main thread has handed the frame over: a message that
 * is posted in a frame comes after its style, layout and paint.
 */
export async function installBench(page: Page): Promise<void> {
  await page.evaluate(() => {
    let inFrame = false
    const plainFrame = window.requestAnimationFrame.bind(window)
    const afterTask = (callback: () => void) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => {
        port1.close()
        callback()
      }
      port2.postMessage(null)
    }
    // A change that is made in a frame is drawn by this frame, and not by the next one.
    window.requestAnimationFrame = (callback) =>
      plainFrame((time) => {
        if (!inFrame) {
          inFrame = true
          afterTask(() => {
            inFrame = false
          })
        }
        callback(time)
      })
    const now = () => performance.timeOrigin + performance.now()
    const drawn = () =>
      new Promise<number>((resolve) => {
        if (inFrame) afterTask(() => resolve(now()))
        else plainFrame(() => afterTask(() => resolve(now())))
      })
    const bench: InWindow = {
      now,
      drawn,
      watch: (pattern, box) => {
        const expression = new RegExp(pattern, 'gu')
        const known = new Set((box.textContent ?? '').match(expression) ?? [])
        const seen: [string, number][] = []
        const observer = new MutationObserver((records) => {
          const fresh: string[] = []
          for (const record of records) {
            const nodes = record.type === 'characterData' ? [record.target] : record.addedNodes
            for (const node of nodes) {
              for (const match of (node.textContent ?? '').match(expression) ?? []) {
                if (known.has(match)) continue
                known.add(match)
                fresh.push(match)
              }
            }
          }
          if (fresh.length > 0) {
            void drawn().then((at) =>
              seen.push(...fresh.map((match): [string, number] => [match, at])),
            )
          }
        })
        observer.observe(box, { subtree: true, childList: true, characterData: true })
        return () => {
          observer.disconnect()
          return seen
        }
      },
      until: (condition) =>
        new Promise((resolve) => {
          const look = () => {
            if (!condition()) return false
            observer.disconnect()
            void drawn().then(resolve)
            return true
          }
          const observer = new MutationObserver(look)
          const options = { subtree: true, childList: true, characterData: true, attributes: true }
          if (!look()) observer.observe(document, options)
        }),
      press: async (element, condition, limitMs) => {
        const end = bench.frames()
        const begun = now()
        ;(element as HTMLElement).click()
        const limit = new Promise<number>((resolve) => {
          setTimeout(() => resolve(begun + limitMs), limitMs)
        })
        const at = await Promise.race([bench.until(condition), limit])
        await new Promise((resolve) => setTimeout(resolve, 300))
        return { ms: at - begun, longest: Math.max(...end()) }
      },
      frames: () => {
        const gaps: number[] = []
        let before: number | null = null
        let goesOn = true
        const note = (time: number) => {
          if (before !== null) gaps.push(time - before)
          before = time
          if (goesOn) plainFrame(note)
        }
        plainFrame(note)
        return () => {
          goesOn = false
          return gaps
        }
      },
    }
    window.bench = bench
  })
}
