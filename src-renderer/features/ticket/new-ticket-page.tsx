import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { draftOf, keepDraft } from '../../stores/drafts.ts'
import { replacePage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { isMod, Key } from '../../ui/key.tsx'
import { joined, usePasted } from '../../ui/pasted.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { PriorityField, StageField, TicketText } from './ticket-fields.tsx'

/** Writes a ticket, and on demand gives it to an agent at once. */
export function NewTicketPage({ project, pane }: { project: string | null; pane: number }) {
  const client = useClient()
  const projects = useRecords((records) => records.projects)
  const sorted = [...projects.values()].sort((a, b) => a.name.localeCompare(b.name))
  const [chosen, setChosen] = useState(project ?? sorted[0]?.id ?? '')
  const [title, setTitle] = useState(() => draftOf('new-ticket.title'))
  const [body, setBody] = useState(() => draftOf('new-ticket.body'))
  const pasted = usePasted('new-ticket')
  const [priority, setPriority] = useState(3)
  const [stage, setStage] = useState('implement')
  const [start, setStart] = useState(true)
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  // One id for one ticket, so that a second press or a try after an error does not make two.
  const command = useRef(newCommand())
  const titleBox = useRef<HTMLInputElement>(null)
  useEffect(() => titleBox.current?.focus(), [])

  const create = async () => {
    if (busy || title.trim() === '' || chosen === '') return
    setBusy(true)
    setRefusal(null)
    const outcome = await attempt(() =>
      client.tickets.add({
        commandId: command.current,
        project: chosen,
        title: title.trim(),
        body: joined(body, pasted.pieces),
        priority,
        stage: stage.trim(),
        start,
      }),
    )
    if (!outcome.ok) {
      setBusy(false)
      setRefusal(outcome.refusal)
      // A refused command did nothing and the next try is a new one; else it is the same one again.
      if (outcome.certain) command.current = newCommand()
      return
    }
    keepDraft('new-ticket.title', '')
    keepDraft('new-ticket.body', '')
    pasted.set([])
    const ticket = outcome.value
    if (start) {
      const sessions = await attempt(() => client.sessions.list({ ticket: ticket.id }))
      const session = sessions.ok ? sessions.value.at(-1) : undefined
      if (session !== undefined) return replacePage(pane, { page: 'session', session: session.id })
    }
    replacePage(pane, { page: 'ticket', ticket: ticket.id })
  }

  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void create()
  }

  return (
    <>
      <PaneHead pane={pane} title="New ticket" />
      <div className="page">
        <form
          className="form page-narrow"
          aria-label="New ticket"
          onSubmit={onSubmit}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && isMod(event)) {
              event.preventDefault()
              void create()
            }
          }}
        >
          <div className="form-two">
            <div className="form-row">
              <label htmlFor="ticket-project">Project</label>
              <select
                id="ticket-project"
                className="field"
                value={chosen}
                onChange={(event) => setChosen(event.target.value)}
              >
                {sorted.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </div>
            <PriorityField value={priority} onChange={setPriority} />
            <StageField value={stage} project={projects.get(chosen)} onChange={setStage} />
          </div>
          <TicketText
            title={title}
            titleBox={titleBox}
            onTitle={(next) => {
              setTitle(next)
              keepDraft('new-ticket.title', next)
            }}
            body={body}
            onBody={(next) => {
              setBody(next)
              keepDraft('new-ticket.body', next)
            }}
            pasted={pasted}
            help="Markdown. The agent gets title and text as its first message."
          />
          <label className="form-check">
            <input
              type="checkbox"
              checked={start}
              onChange={(event) => setStart(event.target.checked)}
            />
            Start at once
          </label>
          {refusal === null ? null : (
            <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />
          )}
          <div className="page-acts">
            <button
              type="submit"
              className="btn btn-main"
              aria-disabled={busy || title.trim() === ''}
            >
              {busy ? 'Creating…' : start ? 'Create and start' : 'Create'} <Key keys="Mod+Enter" />
            </button>
            <button
              type="button"
              className="btn"
              onClick={() => replacePage(pane, { page: 'home' })}
            >
              Cancel
            </button>
          </div>
        </form>
      </div>
    </>
  )
}
