import { Command } from 'cmdk'
import { useMemo, useState } from 'react'
import type { Session, Ticket } from '../../../src-shared/records.ts'
import { type Command as BalletCommand, commands } from '../../commands.ts'
import { openPage, showDialog } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { newestSession, recordsStore } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Key } from '../../ui/key.tsx'
import { StateDot, sessionLook, sessionWord, ticketLook } from '../../ui/state-dot.tsx'
import { best } from './matches.ts'

const TICKETS = 12
/** As long as nothing is typed, so that the commands are in sight too. */
const TICKETS_FIRST = 5

type Found = { ticket: Ticket; session: Session | undefined }

function findTickets(typed: string): Found[] {
  const { tickets, sessions, sketches } = recordsStore().getState()
  const byAge = [...tickets.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
  return best(
    byAge,
    (ticket) => `${ticket.key} ${ticket.title} ${ticket.project}`,
    typed,
    typed === '' ? TICKETS_FIRST : TICKETS,
  ).map((ticket) => ({
    ticket,
    session: sessions.get(newestSession(sketches, ticket.id)?.id ?? ''),
  }))
}

/** Goes to any ticket or session, and does anything that has a name. */
export function Palette() {
  const client = useClient()
  const [typed, setTyped] = useState('')
  const tickets = useMemo(() => findTickets(typed), [typed])
  const found = useMemo(
    () =>
      best(
        commands.filter(({ id, can }) => id !== 'palette' && can?.() !== false),
        (command) => command.title,
        typed,
        commands.length,
      ),
    [typed],
  )
  const close = () => showDialog(null)
  const run = (command: BalletCommand) => {
    close()
    void command.run(client)
  }
  const open = ({ ticket, session }: Found) => {
    close()
    openPage(
      session === undefined
        ? { page: 'ticket', ticket: ticket.id }
        : { page: 'session', session: session.id },
    )
  }
  const commandGroup = (
    <Command.Group heading="Commands" key="commands">
      {found.map((command) => (
        <Command.Item key={command.id} value={command.id} onSelect={() => run(command)}>
          <span className="clip">{command.title}</span>
          {command.keys === undefined ? null : <Key keys={command.keys} />}
        </Command.Item>
      ))}
    </Command.Group>
  )
  const ticketGroup = (
    <Command.Group heading="Tickets and sessions" key="tickets">
      {tickets.map((each) => (
        <Command.Item key={each.ticket.id} value={each.ticket.id} onSelect={() => open(each)}>
          <StateDot
            look={
              each.session === undefined
                ? ticketLook(each.ticket.status)
                : sessionLook(each.session)
            }
          />
          <span className="clip">
            <span className="side-key">{each.ticket.key}</span> {showControls(each.ticket.title)}
          </span>
          <span className="faint">
            {each.session === undefined ? each.ticket.status : sessionWord(each.session)}
          </span>
        </Command.Item>
      ))}
    </Command.Group>
  )
  return (
    <Dialog label="Search or command" className="palette" onClose={close}>
      <Command shouldFilter={false} label="Search or command" loop>
        <Command.Input
          className="palette-input"
          value={typed}
          onValueChange={setTyped}
          placeholder="Search tickets and commands"
        />
        <Command.List className="palette-list">
          {tickets.length === 0 && found.length === 0 ? (
            <p className="palette-none">Nothing has this in its name.</p>
          ) : null}
          {/* Without a search the tickets last touched come first. */}
          {tickets.length > 0 ? ticketGroup : null}
          {found.length > 0 ? commandGroup : null}
        </Command.List>
      </Command>
    </Dialog>
  )
}
