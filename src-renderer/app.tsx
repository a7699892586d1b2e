import { useEffect, useRef, useState } from 'react'
import { runDemo } from './commands.ts'
import { Guard } from './features/shell/guard.tsx'
import { Shell } from './features/shell/shell.tsx'
import { takeDemoRequest } from './stores/demo.ts'
import { loadKept } from './stores/kept.ts'
import { type Client, ClientProvider } from './sync/client.ts'
import { followRecords, recordsStore, useRecords } from './sync/records.ts'
import { Timelines } from './sync/timeline.ts'
import { TimelinesProvider } from './sync/timelines-context.ts'
import { RefusalNote } from './ui/refusal-note.tsx'

function Start() {
  const away = useRecords((records) => records.away)
  if (away === null) return <div className="start" aria-busy="true" />
  return (
    <div className="start">
      <RefusalNote refusal={away} />
    </div>
  )
}

function useRequestedDemo(client: Client, ready: boolean): void {
  useEffect(() => {
    if (ready && takeDemoRequest()) void runDemo(client)
  }, [client, ready])
}

/** What was begun before is there before anything is drawn that shows it. */
function useKept(): boolean {
  const [isThere, setThere] = useState(false)
  useEffect(() => {
    // Without it the window is as good; what was kept stays where it is.
    void loadKept().finally(() => setThere(true))
  }, [])
  return isThere
}

function Window({ client }: { client: Client }) {
  const hasKept = useKept()
  const ready = useRecords((records) => records.cursor !== undefined) && hasKept
  useRequestedDemo(client, ready)
  return ready ? <Shell /> : <Start />
}

/** The window over one client of the host. */
export function App({ client }: { client: Client }) {
  const timelines = useRef<Timelines>(null)
  timelines.current ??= new Timelines(client)
  useEffect(() => {
    const running = new AbortController()
    void followRecords(client, recordsStore(), running.signal)
    return () => running.abort()
  }, [client])
  return (
    <Guard name="window">
      <ClientProvider value={client}>
        <TimelinesProvider value={timelines.current}>
          <Window client={client} />
        </TimelinesProvider>
      </ClientProvider>
    </Guard>
  )
}
