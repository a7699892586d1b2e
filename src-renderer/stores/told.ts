import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { Refusal } from '../../src-shared/refusal.ts'

const store = createStore<{ refusal: Refusal | null }>(() => ({ refusal: null }))

/** Shows a refusal that belongs to no place on the screen, such as one of a command from the palette. */
export const tell = (refusal: Refusal) => store.setState({ refusal })
export const untell = () => store.setState({ refusal: null })
export const useTold = () => useStore(store, (state) => state.refusal)
