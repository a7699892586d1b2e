import { type ReactNode, useState } from 'react'
import type { Parked } from '../../../src-shared/parking.ts'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useMinutes } from '../../stores/clock.ts'
import { useClient } from '../../sync/client.ts'
import { showControls } from '../../text/controls.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { age, bytes, counted, fullTime } from '../../ui/words.ts'
import { resumeSession } from './actions.ts'
import { DamagedResume } from './damaged-resume.tsx'
import { goesOn, parkedWhy, reloadText, stateText } from './parking.ts'

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Aside({ aside }: { aside: Parked['aside'] }) {
  if (aside.length === 0) return null
  return (
    <details>
      <summary>{counted(aside.length, 'file')} kept here, encrypted, and not on the remote</summary>
      <ul>
        {aside.map(({ name, why, bytes: size }) => (
          <li key={name}>
            <code>{showControls(name)}</code>{' '}
            <span className="faint">
              {showControls(why)}, {bytes(size)}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** Whether its work is on the remote, and why where it is not. */
export function Pushed({ parked }: { parked: Pick<Parked, 'pushed' | 'notPushed' | 'commit'> }) {
  if (parked.pushed) return <>pushed</>
  if (parked.commit === null) return <>nothing to push</>
  const { notPushed } = parked
  return (
    <span className="parked-not">
      not pushed yet
      {notPushed === null ? null : (
        <>
          {': '}
          <InlineCode text={notPushed.message} />
        </>
      )}
    </span>
  )
}

function Kept({ session, parked }: { session: Session; parked: Parked }) {
  const state = stateText(session)
  return (
    <>
      <dl>
        <Fact name="branch">
          <code>{session.branch}</code>
          <CopyButton text={session.branch} label="Copy the branch’s name" />
        </Fact>
        {parked.commit === null ? null : (
          <Fact name="commit">
            <code>{parked.commit.slice(0, 12)}</code>
            <CopyButton text={parked.commit} label="Copy the commit" />
          </Fact>
        )}
        <Fact name="work">
          <Pushed parked={parked} />
        </Fact>
        <Fact name="state">{state ?? 'none: resuming begins a new conversation'}</Fact>
        <Fact name="kept">{bytes(parked.keptBytes)}</Fact>
      </dl>
      <Aside aside={parked.aside} />
    </>
  )
}

/** A session that holds no agent and keeps its conversation: why, since when, what is kept, and how it goes on. */
export function ParkedCard({ session }: { session: Session }) {
  const client = useClient()
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const { parked } = session
  const since = parked?.at ?? session.stateSince
  const ago = age(useMinutes() - Date.parse(since))
  const reload = reloadText(session)
  const resume = async () => {
    if (busy) return
    setBusy(true)
    const outcome = await resumeSession(client, session.id)
    setBusy(false)
    setRefusal(outcome.ok ? null : outcome.refusal)
  }
  return (
    <section className="parked" aria-label={`${session.ticket} is parked`}>
      <div className="parked-head">
        <StateDot look="park" />
        <p className="grow">
          <strong>{showControls(parkedWhy(session))}</strong>{' '}
          <span className="faint" title={fullTime(since)}>
            {ago === 'now' ? 'just now' : `${ago} ago`}
          </span>
          {` · ${goesOn(session)}`}
        </p>
        <span className="faint">{reload === null ? '' : `resuming reloads ${reload}`}</span>
        <button
          type="button"
          className="btn btn-main"
          aria-disabled={busy}
          onClick={() => void resume()}
        >
          {busy ? 'Resuming…' : 'Resume'} <Key keys="Mod+Shift+G" />
        </button>
      </div>
      {parked === null ? null : <Kept session={session} parked={parked} />}
      <DamagedResume session={session} />
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
    </section>
  )
}
