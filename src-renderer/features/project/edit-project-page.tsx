import { useRef, useState } from 'react'
import type { Project } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { replacePage } from '../../stores/layout.ts'
import { lookForRuntimes } from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { counted } from '../../ui/words.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { draftOfProject, type ProjectDraft, projectChange } from './project-form.ts'
import { ProjectForm, type Submitted } from './project-form-fields.tsx'

function DeleteProject({ project, onGone }: { project: Project; onGone: () => void }) {
  const client = useClient()
  const tickets = useRecords((records) => {
    let count = 0
    for (const { projectId } of records.tickets.values()) if (projectId === project.id) count += 1
    return count
  })
  const [asked, setAsked] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const remove = async () => {
    const outcome = await attempt(() =>
      client.projects.delete({ ref: project.id, commandId: newCommand() }),
    )
    if (outcome.ok) onGone()
    else {
      setAsked(false)
      setRefusal(outcome.refusal)
    }
  }
  if (refusal !== null) return <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />
  if (tickets > 0) {
    return (
      <p className="faint">
        It has {counted(tickets, 'ticket')}; a project can be deleted when it has none.
      </p>
    )
  }
  return asked ? (
    <span className="page-acts">
      <span className="dim">Delete {showControls(project.name)}? Its remote is not touched.</span>
      <button type="button" className="btn" onClick={() => setAsked(false)}>
        Keep it
      </button>
      <button type="button" className="btn btn-bad" onClick={() => void remove()}>
        Delete
      </button>
    </span>
  ) : (
    <button type="button" className="btn-link" onClick={() => setAsked(true)}>
      Delete this project…
    </button>
  )
}

/** The form of a project. It changes what it was opened or last saved with, whatever the records say since. */
function EditProject({ project, onClose }: { project: Project; onClose: () => void }) {
  const client = useClient()
  const command = useRef(newCommand())
  const [base, setBase] = useState(project)
  const save = async (draft: ProjectDraft, takenAway: readonly string[]): Promise<Submitted> => {
    const change = projectChange(base, draft, takenAway)
    const outcome = await attempt(() =>
      client.projects.edit({ ...change, ref: project.id, commandId: command.current }),
    )
    if (outcome.ok || outcome.certain) command.current = newCommand()
    if (!outcome.ok) return { refusal: outcome.refusal }
    setBase(outcome.value)
    // A variable may be what a runtime is logged in by.
    void lookForRuntimes(client, project.id)
    return { saved: draftOfProject(outcome.value) }
  }
  return (
    <>
      <p className="dim page-narrow">
        Tickets of this project have keys such as {base.key}-1. Changes hold for sessions that are
        started or brought back afterwards.
      </p>
      <ProjectForm
        label="Project"
        initial={draftOfProject(base)}
        project={base.id}
        envNames={base.envNames}
        act="Save"
        onSubmit={save}
        onCancel={onClose}
      />
    </>
  )
}

/** The settings of a project that is there already. */
export function EditProjectPage({ id, pane }: { id: string; pane: number }) {
  const project = useRecords((records) => records.projects.get(id))
  const away = () => replacePage(pane, { page: 'home' })
  if (project === undefined) {
    return (
      <>
        <PaneHead pane={pane} title="Project" />
        <div className="page">
          <p>This project is gone: it was deleted.</p>
        </div>
      </>
    )
  }
  return (
    <>
      <PaneHead pane={pane} title={`Project ${showControls(project.name)}`} />
      <div className="page">
        <EditProject project={project} onClose={away} />
        <DeleteProject project={project} onGone={away} />
      </div>
    </>
  )
}
