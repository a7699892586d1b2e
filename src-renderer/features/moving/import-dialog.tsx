import { useState } from 'react'
import { openPage, showDialog } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { MoveActs, MoveField, MoveFields } from './move-fields.tsx'
import { moveLimit } from './moves.ts'
import { useMove } from './use-move.ts'

const close = () => showDialog(null)

/** Takes a session in that another host exported, and shows it. */
export function ImportDialog() {
  const client = useClient()
  const projects = useRecords((records) => records.projects)
  const [project, setProject] = useState('')
  const move = useMove({ file: '', passphrase: '' }, ({ file, passphrase }) =>
    client.sessions.import(
      { file, passphrase, ...(project === '' ? {} : { project }) },
      moveLimit(),
    ),
  )
  return (
    <Dialog label="Import a session" onClose={close}>
      <form
        ref={move.form}
        className="form move"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void move.submit().then((session) => {
            if (session === null) return
            close()
            openPage({ page: 'session', session: session.id })
          })
        }}
      >
        <h2>Import a session</h2>
        <p>
          What another host exported comes in parked, as it was: answer it or send a message, and it
          goes on here. A project of its repository has to be here first.
        </p>
        <MoveFields draft={move.draft} wrong={move.wrong} onChange={move.change} />
        <MoveField id="move-project" label="Project">
          <select
            id="move-project"
            className="field"
            value={project}
            onChange={({ target }) => setProject(target.value)}
          >
            <option value="">the one of its repository</option>
            {[...projects.values()].map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </MoveField>
        <MoveActs move={move} does="Import" doing="Importing…" onClose={close} />
      </form>
    </Dialog>
  )
}
