import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { Theme } from '../../src-shared/settings.ts'
import { recall, remember } from './remembered.ts'

export const themes: readonly Theme[] = ['system', 'light', 'dark']

const isTheme = (value: unknown): value is Theme => themes.some((theme) => theme === value)

const stored = recall('theme')
const store = createStore<{ theme: Theme }>(() => ({ theme: isTheme(stored) ? stored : 'system' }))

/** Shows it at once; also without the host, and before it is asked at the next start. */
export function setTheme(theme: Theme): void {
  remember('theme', theme === 'system' ? undefined : theme)
  store.setState({ theme })
}

export const useTheme = () => useStore(store, (state) => state.theme)

/** Keeps `data-theme` of the document at the chosen theme, or at the system's. */
export function applyTheme(root: HTMLElement): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const { theme } = store.getState()
    root.dataset.theme = theme === 'system' ? (system.matches ? 'dark' : 'light') : theme
  }
  apply()
  system.addEventListener('change', apply)
  store.subscribe(apply)
}
