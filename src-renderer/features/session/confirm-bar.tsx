import { useState } from 'react'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useClient } from '../../sync/client.ts'
import { Key } from '../../ui/key.tsx'
import { finishSession, stopSession } from './actions.ts'
import { type Confirm, confirmText } from './ending.ts'

/** Says what an end of the session will do, and does it when the person agrees. */
export function ConfirmBar({
  what,
  session,
  onClose,
  onRefused,
}: {
  what: Confirm
  session: Session
  onClose: () => void
  onRefused: (refusal: Refusal) => void
}) {
  const client = useClient()
  const [busy, setBusy] = useState(false)
  const { ask, act } = confirmText(what, session)
  const run = async () => {
    if (busy) return
    setBusy(true)
    const outcome = await (what === 'stop' ? stopSession : finishSession)(client, session.id)
    if (!outcome.ok) onRefused(outcome.refusal)
    onClose()
  }
  return (
    <div
      className="confirm"
      role="alertdialog"
      aria-label={act}
      aria-describedby={`confirm-${session.id}`}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
    >
      <span id={`confirm-${session.id}`} className="grow">
        {ask}
      </span>
      <button type="button" className="btn" onClick={onClose}>
        Not now <Key keys="Escape" />
      </button>
      <button
        type="button"
        className="btn btn-main"
        // biome-ignore lint/a11y/noAutofocus: the answer to a question that the person just asked for
        autoFocus
        aria-disabled={busy}
        onClick={() => void run()}
      >
        {busy ? `${act}…` : act} <Key keys="Enter" />
      </button>
    </div>
  )
}
