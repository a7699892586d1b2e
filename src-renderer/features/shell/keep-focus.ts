import { useEffect } from 'react'
import { jumps } from '../../stores/jumps.ts'
import { layoutStore } from '../../stores/layout.ts'

/** Parts of the window that each keep the focus when what had it in them is gone. */
const PART = '.pane, .side, .details, .top'
/** Where the focus goes in a part, the first that is there. */
const PLACES = ['.comp-box', '.tl', '[tabindex="0"]', 'h2[tabindex="-1"]', 'button']
/** After a request comes the next one. */
const AFTER_REQUEST = ['[data-request]', ...PLACES]

type Held = { element: Element; part: Element | null; wasRequest: boolean }

function placeFor(lost: Held | null): HTMLElement | null {
  const { focused } = layoutStore.getState()
  const pane = document.querySelectorAll('.pane')[focused] ?? null
  const part = lost?.part?.isConnected === true ? lost.part : pane
  for (const place of lost?.wasRequest === true ? AFTER_REQUEST : PLACES) {
    const found = part?.querySelector<HTMLElement>(place)
    if (found != null) return found
  }
  return null
}

const isNowhere = () => document.activeElement === null || document.activeElement === document.body

/**
 * Gives the focus a place near by when what had it left the page or was disabled, so that the keyboard always goes
 * on from somewhere. Who clicks on nothing has no focus by intent, and nothing is done.
 */
function keepFocus(): () => void {
  let held: Held | null = null
  let frame = 0
  /** A page that is still loaded has no place yet; the next change of the page looks again. */
  const place = () => {
    if (!isNowhere() || document.querySelector('dialog[open]') !== null) return
    const found = placeFor(held)
    const item = found?.dataset.request ?? found?.dataset.question
    if (item !== undefined) jumps.jumped(item)
    found?.focus({ preventScroll: true })
  }
  const look = () => {
    if (!isNowhere()) return
    if (held?.element.isConnected === true && !held.element.matches(':disabled')) return
    cancelAnimationFrame(frame)
    // What takes its place may want the focus itself, and gets a frame to do so.
    frame = requestAnimationFrame(() => requestAnimationFrame(place))
  }
  const onFocus = ({ target }: FocusEvent) => {
    if (!(target instanceof Element)) return
    held = {
      element: target,
      part: target.closest(PART),
      wasRequest: target.closest('[data-request]') !== null,
    }
  }
  const changes = new MutationObserver(look)
  changes.observe(document.body, {
    subtree: true,
    childList: true,
    attributes: true,
    attributeFilter: ['disabled'],
  })
  document.addEventListener('focusin', onFocus)
  look()
  return () => {
    cancelAnimationFrame(frame)
    changes.disconnect()
    document.removeEventListener('focusin', onFocus)
  }
}

export function useKeptFocus(): void {
  useEffect(keepFocus, [])
}
