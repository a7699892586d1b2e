import { useState } from 'react'
import type { TicketId } from '../../../src-shared/ids.ts'
import type { DeletionReport } from '../../../src-shared/moving.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useClient } from '../../sync/client.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { bytes, counted } from '../../ui/words.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'

/** What is refused because it would be the end of work that is nowhere else. */
const ONLY_COPY = new Set(['branch.only-copy', 'ticket.not-pushed', 'workspace.not-pushed'])

/** What went with a ticket, in a sentence. */
export function removedText(removed: DeletionReport): string {
  const { sessions, events, workspaces, keptFiles, keptBytes, runtimeFiles, remoteBranch } = removed
  const parts = [
    `${counted(sessions, 'session')} with ${counted(events, 'event')}`,
    workspaces === 0 ? '' : counted(workspaces, 'workspace'),
    keptFiles === 0 ? '' : `${counted(keptFiles, 'kept file')} (${bytes(keptBytes)})`,
    runtimeFiles === 0 ? '' : `${counted(runtimeFiles, 'file')} of its runtime`,
    remoteBranch === 'removed' ? 'its branch on the remote' : '',
  ]
  const gone = `Gone with it: ${parts.filter((part) => part !== '').join(', ')}.`
  return remoteBranch === 'left' ? `${gone} Its branch stays on the remote.` : gone
}

/** Asks, removes, and where work is nowhere else lets the name of the branch be typed. */
export function DeleteTicket({
  id,
  ticketKey,
  branch,
  onRemoved,
}: {
  id: TicketId
  ticketKey: string
  /** Of its sessions; undefined when it has none. */
  branch: string | undefined
  onRemoved: (removed: DeletionReport) => void
}) {
  const client = useClient()
  const [asked, setAsked] = useState(false)
  const [remoteBranch, setRemoteBranch] = useState(false)
  const [typed, setTyped] = useState('')
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [busy, setBusy] = useState(false)
  const remove = async (forceBranch?: string) => {
    setBusy(true)
    const outcome = await attempt(() =>
      client.tickets.delete({
        ...{ ref: id, commandId: newCommand(), remoteBranch },
        ...(forceBranch === undefined ? {} : { forceBranch }),
      }),
    )
    setBusy(false)
    if (outcome.ok) onRemoved(outcome.value.removed)
    else setRefusal(outcome.refusal)
  }
  const close = () => {
    setRefusal(null)
    setAsked(false)
    setTyped('')
  }
  if (refusal !== null) {
    const mayForce = ONLY_COPY.has(refusal.code) && branch !== undefined
    const hint = 'Keep it, or type the name of its branch to remove the work too.'
    return (
      <>
        <RefusalNote refusal={mayForce ? { ...refusal, hint } : refusal} onClose={close} />
        {mayForce ? (
          <span className="page-acts">
            <input
              className="field"
              aria-label={`Type ${branch} to remove the work too`}
              placeholder={branch}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
            <button type="button" className="btn" onClick={close}>
              Keep it
            </button>
            <button
              type="button"
              className="btn btn-bad"
              disabled={busy || typed !== branch}
              onClick={() => void remove(typed)}
            >
              Delete with its work
            </button>
          </span>
        ) : null}
      </>
    )
  }
  if (!asked) {
    return (
      <button type="button" className="btn-link" onClick={() => setAsked(true)}>
        Delete this ticket…
      </button>
    )
  }
  return (
    <span className="page-acts">
      <span className="dim">Delete {ticketKey} with its sessions and all they left?</span>
      {branch === undefined ? null : (
        <label>
          <input
            type="checkbox"
            checked={remoteBranch}
            onChange={(event) => setRemoteBranch(event.target.checked)}
          />{' '}
          Its branch on the remote too
        </label>
      )}
      <button type="button" className="btn" onClick={close}>
        Keep it
      </button>
      <button type="button" className="btn btn-bad" disabled={busy} onClick={() => void remove()}>
        {busy ? 'Deleting…' : 'Delete'}
      </button>
    </span>
  )
}
