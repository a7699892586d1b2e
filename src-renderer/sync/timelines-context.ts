import { createContext, useContext } from 'react'
import type { Timelines } from './timeline.ts'

const Context = createContext<Timelines | null>(null)

export const TimelinesProvider = Context.Provider

export function useTimelines(): Timelines {
  const timelines = useContext(Context)
  if (timelines === null) throw new Error('no timelines were given to this part of the window')
  return timelines
}
