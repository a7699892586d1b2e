import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'

/** The request that a person wants to answer now; the timeline that has it shows it and gives it the focus. */
const store = createStore<{ request: string | null }>(() => ({ request: null }))

export const wantRequest = (request: string) => store.setState({ request })
export const requestShown = () => store.setState({ request: null })
export const useWantedRequest = () => useStore(store, (state) => state.request)
