import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { Ticket } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { replacePage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords, useTicket } from '../../sync/records.ts'
import { isMod, Key } from '../../ui/key.tsx'
import { joined, PASTE_LIMIT, usePasted } from '../../ui/pasted.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { PriorityField, StageField, TicketText } from './ticket-fields.tsx'

function EditTicket({ ticket, onClose }: { ticket: Ticket; onClose: () => void }) {
  const client = useClient()
  const isLong = ticket.body.length > PASTE_LIMIT
  const [before] = useState(ticket)
  const [title, setTitle] = useState(ticket.title)
  const [body, setBody] = useState(isLong ? '' : ticket.body)
  const pasted = usePasted(`edit-ticket.${ticket.id}`, isLong ? [ticket.body] : [])
  const [priority, setPriority] = useState<number>(ticket.priority)
  const [stage, setStage] = useState<string>(ticket.stage)
  const project = useRecords((records) => records.projects.get(ticket.projectId))
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const titleBox = useRef<HTMLInputElement>(null)
  const command = useRef(newCommand())
  useEffect(() => titleBox.current?.focus(), [])

  const close = () => {
    pasted.set([])
    onClose()
  }
  const save = async () => {
    if (busy || title.trim() === '') return
    const text = joined(body, pasted.pieces)
    setBusy(true)
    setRefusal(null)
    const outcome = await attempt(() =>
      client.tickets.edit({
        ref: ticket.id,
        commandId: command.current,
        ...(title.trim() === before.title ? {} : { title: title.trim() }),
        ...(text === before.body ? {} : { body: text }),
        ...(priority === before.priority ? {} : { priority }),
        ...(stage.trim() === before.stage ? {} : { stage: stage.trim() }),
      }),
    )
    setBusy(false)
    if (outcome.ok) return close()
    if (outcome.certain) command.current = newCommand()
    setRefusal(outcome.refusal)
  }

  return (
    <form
      className="form page-narrow"
      aria-label={`Edit ${ticket.key}`}
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        void save()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !isMod(event)) return
        event.preventDefault()
        void save()
      }}
    >
      <TicketText
        title={title}
        titleBox={titleBox}
        onTitle={setTitle}
        body={body}
        onBody={setBody}
        pasted={pasted}
        help="Markdown. A session that has begun keeps the text that it was given."
      />
      <div className="form-two">
        <PriorityField value={priority} onChange={setPriority} />
        <StageField value={stage} project={project} onChange={setStage} />
      </div>
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
      <div className="page-acts">
        <button type="submit" className="btn btn-main" aria-disabled={busy || title.trim() === ''}>
          {busy ? 'Saving…' : 'Save'} <Key keys="Mod+Enter" />
        </button>
        <button type="button" className="btn" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** Changes a ticket that is there already. */
export function EditTicketPage({ id, pane }: { id: string; pane: number }) {
  const ticket = useTicket(id)
  return (
    <>
      <PaneHead pane={pane} title={ticket === undefined ? 'Ticket' : `Edit ${ticket.key}`} />
      <div className="page">
        {ticket === undefined ? (
          <p>This ticket is gone: it was deleted.</p>
        ) : (
          <EditTicket
            ticket={ticket}
            onClose={() => replacePage(pane, { page: 'ticket', ticket: id })}
          />
        )}
      </div>
    </>
  )
}
