import { useEffect, useRef, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { bridge } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { counted } from '../../ui/words.ts'
import { useHostTheme } from '../shell/host-theme.ts'
import { drain } from './drain.ts'
import { DrainingSession, isTurnDrained } from './draining-session.tsx'

/** Every session that held an agent since the quit began, in the order in which it was seen. */
function useLeaving(): readonly string[] {
  const agents = useRecords((records) => records.agents)
  const seen = useRef(new Set<string>())
  for (const { session } of agents.values()) if (session !== null) seen.current.add(session)
  return [...seen.current]
}

/** The page of a small window that shows how far a quit is, and what can be done about it. */
export function QuitPage() {
  useHostTheme()
  const client = useClient()
  const leaving = useLeaving()
  const sessions = useRecords((records) => records.sessions)
  const graceMs = useRecords(
    ({ settings }) => (settings.get('settings')?.drainGraceSeconds ?? 60) * 1_000,
  )
  const [graceFrom, setGraceFrom] = useState(() => Date.now())
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  useEffect(() => {
    document.title = 'Quitting · Ballet'
  }, [])
  const shown = leaving.flatMap((id) => sessions.get(id) ?? [])
  const open = shown.filter(({ agent }) => agent !== null)
  const working = open.some(isTurnDrained)
  const say = async (how: 'gently' | 'now') => {
    setRefusal(await drain(client, how))
    setGraceFrom(how === 'gently' ? Date.now() : 0)
  }
  return (
    <main className="quit" aria-label="Ballet is quitting">
      <h1>Ballet is quitting</h1>
      <p className="dim" role="status">
        {open.length === 0
          ? 'Every session is parked.'
          : `${counted(open.length, 'session')} of ${shown.length} still ${open.length === 1 ? 'holds its agent' : 'hold their agents'}. Each is parked first: its work and its conversation are kept, and what works goes on at the next start.`}
      </p>
      <ul className="quit-list">
        {shown.map((session) => (
          <DrainingSession key={session.id} session={session} graceEnds={graceFrom + graceMs} />
        ))}
      </ul>
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <div className="page-acts">
        <button type="button" className="btn btn-main" onClick={() => bridge()?.cancelQuit()}>
          Cancel quit
        </button>
        <button
          type="button"
          className="btn"
          aria-disabled={!working}
          title="Lets the turns that run go on: their grace begins anew"
          onClick={() => {
            if (working) void say('gently')
          }}
        >
          Keep waiting
        </button>
        <button
          type="button"
          className="btn"
          aria-disabled={!working}
          title="Interrupts the turns that run; they go on at the next start"
          onClick={() => {
            if (working) void say('now')
          }}
        >
          Interrupt now
        </button>
      </div>
      <p className="form-help">
        Quit again, or close this window, to keep everything on this machine within seconds; what is
        not on the remote then is pushed at the next start.
      </p>
    </main>
  )
}
