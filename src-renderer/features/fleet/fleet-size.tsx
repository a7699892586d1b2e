import { useEffect, useRef, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { agentNumber, counted } from '../../ui/words.ts'
import { changeSettings } from '../settings/change.ts'

/** As many as the settings allow. */
const MOST = 32

/** What the host is told only once a person stopped pressing. */
const SETTLE_MS = 400

/** How many agents the fleet is to have; more start at once, fewer drain first. */
export function FleetSize() {
  const client = useClient()
  const size = useRecords((records) => records.settings.get('settings')?.agents)
  /** Of the places that are too many; others are drained for another reason. */
  const draining = useRecords(({ agents, settings }) => {
    const most = settings.get('settings')?.agents ?? 0
    let count = 0
    for (const { id, state } of agents.values()) {
      if (state === 'draining' && Number(agentNumber(id)) > most) count += 1
    }
    return count
  })
  const [wanted, setWanted] = useState<number | null>(null)
  /** What the host is being told; the records still say what was. */
  const told = useRef<number | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  useEffect(() => {
    if (wanted === null) return
    const timer = setTimeout(() => {
      if (wanted === (told.current ?? size)) return setWanted(null)
      told.current = wanted
      void changeSettings(client, { agents: wanted }).then((problem) => {
        if (told.current === wanted) told.current = null
        setRefusal(problem)
        // What was pressed while the host was told is not told yet.
        setWanted((now) => (now === wanted ? null : now))
      })
    }, SETTLE_MS)
    return () => clearTimeout(timer)
  }, [client, wanted, size])
  if (size === undefined) return null
  const shown = wanted ?? size
  const set = (next: number) => setWanted(Math.max(1, Math.min(MOST, next)))
  return (
    <>
      <div className="page-acts">
        <fieldset className="stepper" aria-label="Size of the fleet">
          <button
            type="button"
            className="btn"
            aria-label="One agent fewer"
            aria-disabled={shown <= 1}
            onClick={() => set(shown - 1)}
          >
            −
          </button>
          <output aria-live="polite">{counted(shown, 'agent')}</output>
          <button
            type="button"
            className="btn"
            aria-label="One agent more"
            aria-disabled={shown >= MOST}
            onClick={() => set(shown + 1)}
          >
            +
          </button>
        </fieldset>
        <span className="dim">
          {wanted === null
            ? draining === 0
              ? ''
              : `${counted(draining, 'agent')} more ${draining === 1 ? 'drains' : 'drain'}: gone when free`
            : 'changing…'}
        </span>
      </div>
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
    </>
  )
}
