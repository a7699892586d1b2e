import { useMemo, useState } from 'react'
import '../../sync/without-jit.ts'
import { GivenStatus } from '../../../src-shared/contract.ts'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { DeletionReport } from '../../../src-shared/moving.ts'
import type { Session, Ticket, TicketStatus } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useMinutes } from '../../stores/clock.ts'
import { openPage, replacePage } from '../../stores/layout.ts'
import { runtimeTitle } from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords, useTicket } from '../../sync/records.ts'
import { AgentText } from '../../text/agent-text.tsx'
import { showControls } from '../../text/controls.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot, StateWord, sessionLook, sessionWord, ticketLook } from '../../ui/state-dot.tsx'
import { age, fullTime, money, priorityWord } from '../../ui/words.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt, isLive, startTicket } from '../session/actions.ts'
import { useCost } from '../session/cost.ts'
import { ProgressLine } from '../session/progress.tsx'
import { PaneHead } from '../shell/pane-head.tsx'
import { DeleteTicket, removedText } from './delete-ticket.tsx'
import { TicketAssumptions } from './ticket-assumptions.tsx'

function SessionRow({ session }: { session: Session }) {
  const since = age(useMinutes() - Date.parse(session.createdAt))
  return (
    <button
      type="button"
      className="page-row"
      onClick={() => openPage({ page: 'session', session: session.id as SessionId })}
    >
      <StateDot look={sessionLook(session)} />
      <span className="clip">
        {sessionWord(session)} · {session.stage}
        {session.parked !== null && session.parked.commit !== null && !session.parked.pushed
          ? ' · not pushed yet'
          : ''}
        {session.reason === '' ? '' : ` · ${showControls(session.reason)}`}
      </span>
      <span className="pane-meta">
        {runtimeTitle(session.runtime)} · turn {session.turn} · {useCost(session)} · {since}
      </span>
    </button>
  )
}

function TicketFacts({ ticket, sessions }: { ticket: Ticket; sessions: readonly Session[] }) {
  const cost = sessions.reduce((sum, session) => sum + session.costUsd, 0)
  const [newest] = sessions
  return (
    <div className="page-facts">
      <button
        type="button"
        className="btn-link"
        onClick={() => openPage({ page: 'edit-project', project: ticket.projectId })}
      >
        {showControls(ticket.project)}
      </button>
      <span>stage {ticket.stage}</span>
      <span>priority {priorityWord(ticket.priority)}</span>
      <span>created {fullTime(ticket.createdAt)}</span>
      <span>changed {fullTime(ticket.updatedAt)}</span>
      {sessions.length === 0 ? null : <span>cost {money(cost)}</span>}
      {newest === undefined ? null : (
        <span className="page-branch">
          <code className="clip">{newest.branch}</code>
          <CopyButton text={newest.branch} label="Copy the branch’s name" />
        </span>
      )}
    </div>
  )
}

function StatusField({
  ticket,
  isLive: live,
  onRefused,
}: {
  ticket: Ticket
  isLive: boolean
  onRefused: (refusal: Refusal) => void
}) {
  const client = useClient()
  const given: readonly TicketStatus[] = GivenStatus.options
  const change = async (status: GivenStatus) => {
    const outcome = await attempt(() =>
      client.tickets.edit({ ref: ticket.id, commandId: newCommand(), status }),
    )
    if (!outcome.ok) onRefused(outcome.refusal)
  }
  return (
    <select
      className="field page-status"
      aria-label="Status"
      value={ticket.status}
      disabled={live}
      title={live ? 'While a session is live its state decides' : undefined}
      onChange={(event) => {
        const status = GivenStatus.safeParse(event.target.value)
        if (status.success) void change(status.data)
      }}
    >
      {given.includes(ticket.status) ? null : (
        <option value={ticket.status} disabled>
          {ticket.status}
        </option>
      )}
      {given.map((status) => (
        <option key={status} value={status}>
          {status}
        </option>
      ))}
    </select>
  )
}

/** A ticket: what shall be done, how it stands, and the sessions that work or worked on it. */
export function TicketPage({ id, pane }: { id: string; pane: number }) {
  const client = useClient()
  const ticket = useTicket(id)
  const all = useRecords((records) => records.sessions)
  const sessions = useMemo(
    () =>
      [...all.values()]
        .filter((session) => session.ticketId === id)
        .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)),
    [all, id],
  )
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [removed, setRemoved] = useState<DeletionReport | null>(null)
  if (ticket === undefined) {
    return (
      <>
        <PaneHead pane={pane} title="Ticket" />
        <div className="page">
          <p>
            This ticket is gone: it was deleted.{removed === null ? '' : ` ${removedText(removed)}`}
          </p>
        </div>
      </>
    )
  }
  const [newest] = sessions
  const live = newest !== undefined && isLive(newest.state)
  const start = async () => {
    setBusy(true)
    setRefusal(null)
    const outcome = await startTicket(client, ticket.id)
    setBusy(false)
    if (outcome.ok) openPage({ page: 'session', session: outcome.value.id })
    else setRefusal(outcome.refusal)
  }
  return (
    <>
      <PaneHead
        pane={pane}
        mark={<StateDot look={ticketLook(ticket.status)} />}
        title={`${ticket.key} ${showControls(ticket.title)}`}
        after={<StateWord look={ticketLook(ticket.status)}>{ticket.status}</StateWord>}
      />
      <div className="page" data-ticket={id}>
        <TicketFacts ticket={ticket} sessions={sessions} />
        <div className="page-acts">
          {live && newest !== undefined ? (
            <button
              type="button"
              className="btn btn-main"
              onClick={() => openPage({ page: 'session', session: newest.id })}
            >
              Open the session
            </button>
          ) : (
            <button
              type="button"
              className="btn btn-main"
              disabled={busy}
              onClick={() => void start()}
            >
              {busy
                ? 'Starting…'
                : newest?.state === 'parked' || newest?.state === 'failed'
                  ? 'Go on with the session'
                  : 'Start'}
            </button>
          )}
          <button
            type="button"
            className="btn"
            onClick={() => replacePage(pane, { page: 'edit-ticket', ticket: id })}
          >
            Edit <Key keys="Mod+E" />
          </button>
          <StatusField ticket={ticket} isLive={live} onRefused={setRefusal} />
        </div>
        {refusal === null ? null : (
          <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />
        )}
        <h3 className="unseen">Description</h3>
        {ticket.body.trim() === '' ? (
          <p className="faint">No description.</p>
        ) : (
          <AgentText text={ticket.body} className="page-body" />
        )}
        {live && newest?.progress != null ? (
          <section>
            <h3>Progress</h3>
            <ProgressLine progress={newest.progress} />
          </section>
        ) : null}
        <TicketAssumptions ticket={ticket.id} />
        {sessions.length === 0 ? null : (
          <section>
            <h3>
              Sessions <span className="faint">{sessions.length}</span>
            </h3>
            <ul className="page-list">
              {sessions.map((session) => (
                <li key={session.id}>
                  <SessionRow session={session} />
                </li>
              ))}
            </ul>
          </section>
        )}
        {live ? null : (
          <DeleteTicket
            id={ticket.id}
            ticketKey={ticket.key}
            branch={newest?.branch}
            onRemoved={setRemoved}
          />
        )}
      </div>
    </>
  )
}
