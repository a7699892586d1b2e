import { useSeconds } from '../../stores/clock.ts'
import { countdown, fullTime } from '../../ui/words.ts'

/** How long a waiting session keeps its agent yet. */
export function ParksIn({ at }: { at: string }) {
  return (
    <span title={`Parks at ${fullTime(at)}`}>
      parks in {countdown(Date.parse(at) - useSeconds())}
    </span>
  )
}
