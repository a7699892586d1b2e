import { useMemo } from 'react'
import { wantRequest } from '../../stores/wanted-request.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { whole } from '../../ui/words.ts'
import { askingWord } from './wanted.ts'

const firstLine = (text: string) =>
  showControls((text.trim().split('\n', 1)[0] ?? '').slice(0, 200))

type Waiting = { id: string; createdAt: string; word: string; what: string }

/** What of a session waits for an answer, the oldest first. */
function useWaiting(session: string): Waiting[] {
  const requests = useRecords((records) => records.requests)
  const questions = useRecords((records) => records.questions)
  return useMemo(() => {
    const waiting: Waiting[] = []
    for (const { id, createdAt, session: of, toolKind, title } of requests.values()) {
      if (of === session) waiting.push({ id, createdAt, word: askingWord(toolKind), what: title })
    }
    for (const { id, createdAt, session: of, state, question } of questions.values()) {
      if (of !== session || state !== 'open') continue
      waiting.push({ id, createdAt, word: 'Asks', what: question })
    }
    return waiting.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  }, [requests, questions, session])
}

/** Says over the message box that the session waits for an answer, wherever the timeline is scrolled to. */
export function AskLine({ session }: { session: string }) {
  const open = useWaiting(session)
  const [oldest] = open
  if (oldest === undefined) return null
  const { id, word, what } = oldest
  return (
    <p className="comp-ask" role="status">
      <StateDot look={word === 'Asks' ? 'wait' : 'ask'} />
      <span className="clip grow">
        {word}: {word === 'Asks' ? firstLine(what) : <code>{firstLine(what)}</code>}
        {open.length > 1 ? ` and ${whole(open.length - 1)} more` : ''}
      </span>
      <button type="button" className="btn-quiet" onClick={() => wantRequest(id)}>
        Answer <Key keys="Mod+Shift+A" />
      </button>
    </p>
  )
}
