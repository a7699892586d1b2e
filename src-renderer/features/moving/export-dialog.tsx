import { useState } from 'react'
import { type ExportedFile, importCommand } from '../../../src-shared/moving.ts'
import type { Session } from '../../../src-shared/records.ts'
import { focusedSession } from '../../commands.ts'
import { showDialog } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Key } from '../../ui/key.tsx'
import { bytes } from '../../ui/words.ts'
import { MoveActs, MoveFields } from './move-fields.tsx'
import { moveLimit } from './moves.ts'
import { useMove } from './use-move.ts'

const close = () => showDialog(null)

function Exported({ ticket, made }: { ticket: string; made: ExportedFile }) {
  const command = importCommand(made.file)
  return (
    <div className="form move" role="status">
      <h2>{ticket} is exported</h2>
      <p>
        It is in <code>{made.file}</code> ({bytes(made.bytes)}), and takes no more inputs here.
        Where it is to go on, choose “Import a session…” in the window, or run:
      </p>
      <p className="page-acts">
        <code className="move-command">{command}</code>
        <CopyButton text={command} label="Copy the command" />
      </p>
      <div className="page-acts">
        {/* biome-ignore lint/a11y/noAutofocus: the form that had the focus is gone */}
        <button type="button" className="btn btn-main" autoFocus onClick={close}>
          Close <Key keys="Escape" />
        </button>
      </div>
    </div>
  )
}

function ExportForm({
  session,
  onExported,
}: {
  session: Session
  onExported: (made: ExportedFile) => void
}) {
  const client = useClient()
  const { id, ticket, state } = session
  const move = useMove({ file: '', passphrase: '', again: '' }, ({ file, passphrase }) =>
    client.sessions.export({ ref: id, file, passphrase }, moveLimit()),
  )
  return (
    <form
      ref={move.form}
      className="form move"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void move.submit().then((made) => {
          if (made !== null) onExported(made)
        })
      }}
    >
      <h2>Export {ticket}</h2>
      <p>
        {state === 'parked' ? '' : 'It is parked first. '}All of it goes into one file, sealed with
        a passphrase. Here it then takes no more inputs: it goes on where the file is imported.
      </p>
      <MoveFields
        draft={move.draft}
        wrong={move.wrong}
        save={`${ticket.toLowerCase()}.ballet`}
        onChange={move.change}
      />
      <MoveActs move={move} does="Export" doing="Exporting…" onClose={close} />
    </form>
  )
}

/** Writes the session in sight to one file, and says how that is taken in elsewhere. */
export function ExportDialog() {
  const [session] = useState(focusedSession)
  const [made, setMade] = useState<ExportedFile | null>(null)
  if (session === undefined) return null
  return (
    <Dialog label={`Export ${session.ticket}`} onClose={close}>
      {made === null ? (
        <ExportForm session={session} onExported={setMade} />
      ) : (
        <Exported ticket={session.ticket} made={made} />
      )}
    </Dialog>
  )
}
