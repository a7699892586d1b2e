import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { ANSWER_HASH, QUIT_HASH } from '../src-shared/window-bridge.ts'
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

const AnswerPage = lazy(() =>
  import('./features/inbox/answer-page.tsx').then(({ AnswerPage: page }) => ({ default: page })),
)

const QuitPage = lazy(() =>
  import('./features/fleet/quit-page.tsx').then(({ QuitPage: page }) => ({ default: page })),
)

/** What the page is opened to answer; undefined: it is the whole window. */
function answersWhat(): string | undefined {
  const { hash } = location
  return hash.startsWith(ANSWER_HASH) ? hash.slice(ANSWER_HASH.length) : undefined
}

function Start() {
  const away = useRecords((records) => records.away)
  if (away === null) return <div className="start" aria-busy="true" />
  return (
    <div className="start">
      <RefusalNote refusal={away} />
    </div>
  )
}

function useRequestedDemo(client: Client): void {
  useEffect(() => {
    if (takeDemoRequest()) void runDemo(client)
  }, [client])
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

function Whole({ client }: { client: Client }) {
  useRequestedDemo(client)
  return <Shell />
}

function Window({ client }: { client: Client }) {
  const hasKept = useKept()
  const ready = useRecords((records) => records.cursor !== undefined) && hasKept
  const [answers] = useState(answersWhat)
  if (!ready) return <Start />
  if (location.hash === QUIT_HASH) {
    return (
      <Suspense fallback={<Start />}>
        <QuitPage />
      </Suspense>
    )
  }
  if (answers === undefined) return <Whole client={client} />
  return (
    <Suspense fallback={<Start />}>
      <AnswerPage id={answers} />
    </Suspense>
  )
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
