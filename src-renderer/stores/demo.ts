import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import { bridge } from '../sync/bridge.ts'

/** Kept over a reload, not over the end of the application: the demo is asked for once by `--demo`. */
const ASKED = 'ballet.demo'

const isRequested = () => bridge()?.demoRequested === true && sessionStorage.getItem(ASKED) === null

/** Whether the demo is being made ready. */
const store = createStore<{ starts: boolean }>(() => ({ starts: isRequested() }))

export const useDemoStarts = (): boolean => useStore(store, ({ starts }) => starts)

/** Says so while the demo is made ready. */
export async function whileDemoStarts<T>(work: Promise<T>): Promise<T> {
  store.setState({ starts: true })
  try {
    return await work
  } finally {
    store.setState({ starts: false })
  }
}

/** True once, where the application was started to show the demo. */
export function takeDemoRequest(): boolean {
  if (!isRequested()) return false
  sessionStorage.setItem(ASKED, 'asked')
  return true
}
