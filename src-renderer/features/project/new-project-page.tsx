import { useRef } from 'react'
import { replacePage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { emptyProject, type ProjectDraft, projectSettings } from './project-form.ts'
import { ProjectForm, type Submitted } from './project-form-fields.tsx'

/** A new project: the host asks its remote before anything is stored. */
export function NewProjectPage({ pane }: { pane: number }) {
  const client = useClient()
  const command = useRef(newCommand())
  const add = async (draft: ProjectDraft): Promise<Submitted> => {
    const outcome = await attempt(() =>
      client.projects.add({ ...projectSettings(draft), commandId: command.current }),
    )
    if (!outcome.ok) {
      if (outcome.certain) command.current = newCommand()
      return { refusal: outcome.refusal }
    }
    replacePage(pane, { page: 'new-ticket', project: outcome.value.id })
    return { saved: null }
  }
  return (
    <>
      <PaneHead pane={pane} title="New project" />
      <div className="page">
        <ProjectForm
          label="New project"
          initial={emptyProject}
          act="Add project"
          onSubmit={add}
          onCancel={() => replacePage(pane, { page: 'home' })}
        />
      </div>
    </>
  )
}
