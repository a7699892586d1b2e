import { useState } from 'react'
import { parseDuration } from '../../../src-shared/duration.ts'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { newCommand } from '../composer/steer.ts'
import { attempt, takesMessages } from './actions.ts'

/** `10m`, and whose it is. */
export function windowText(own: string | null, ofProject: string | undefined): string {
  if (own !== null) return `${own}, its own`
  return ofProject === undefined ? 'the project’s' : `${ofProject}, the project’s`
}

/** How long the session waits for a person before it parks, and a way to change it. */
export function WindowField({ session }: { session: Session }) {
  const client = useClient()
  const ofProject = useRecords(({ projects }) => projects.get(session.projectId)?.window)
  const [typed, setTyped] = useState<string | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const save = async (window: string | null) => {
    const outcome = await attempt(() =>
      client.sessions.edit({ ref: session.id, commandId: newCommand(), window }),
    )
    setRefusal(outcome.ok ? null : outcome.refusal)
    if (outcome.ok) setTyped(null)
  }
  const isOver = !takesMessages(session.state)
  if (typed === null) {
    return (
      <>
        {windowText(session.window, ofProject)}{' '}
        {isOver ? null : (
          <button
            type="button"
            className="btn-link"
            aria-label="Change the session’s online window"
            onClick={() => setTyped(session.window ?? ofProject ?? '')}
          >
            change
          </button>
        )}
      </>
    )
  }
  const isWrong = parseDuration(typed) === undefined
  return (
    <form
      className="det-window"
      aria-label="Online window"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isWrong) void save(typed.trim())
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') setTyped(null)
      }}
    >
      <input
        className="field"
        // biome-ignore lint/a11y/noAutofocus: the person just chose to change it
        autoFocus
        value={typed}
        aria-label="How long it waits for you: 90s, 10m, 2h, now or never"
        aria-invalid={isWrong}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => setTyped(target.value)}
      />
      <button type="submit" className="btn" aria-disabled={isWrong}>
        Save
      </button>
      {session.window === null ? null : (
        <button type="button" className="btn" onClick={() => void save(null)}>
          The project’s
        </button>
      )}
      <p className={isWrong ? 'form-wrong' : 'form-help'}>
        90s, 10m, 2h; now parks at once, never keeps it online.
      </p>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </form>
  )
}
