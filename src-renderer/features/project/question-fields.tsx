import '../../sync/without-jit.ts'
import { NotificationKind } from '../../../src-shared/records.ts'
import { kindsOf, type ProjectDraft } from './project-form.ts'

export const kindLabel: Record<NotificationKind, string> = {
  question: 'Questions',
  request: 'Permission requests',
  ended: 'Finished or failed',
}

/** Kinds of notifications, a box each. */
export function NotifyBoxes({
  chosen,
  label,
  onChange,
}: {
  chosen: readonly NotificationKind[]
  label: string
  onChange: (chosen: NotificationKind[]) => void
}) {
  return (
    <fieldset className="choices choices-plain">
      <legend className="unseen">{label}</legend>
      {NotificationKind.options.map((kind) => (
        <label key={kind} className="choice">
          <input
            type="checkbox"
            checked={chosen.includes(kind)}
            onChange={({ target }) =>
              onChange(
                NotificationKind.options.filter((each) =>
                  each === kind ? target.checked : chosen.includes(each),
                ),
              )
            }
          />
          {kindLabel[kind]}
        </label>
      ))}
    </fieldset>
  )
}

/** How questions of a project's agents are answered, and what a person is told of. */
export function QuestionFields({
  draft,
  isOpen,
  onChange,
}: {
  draft: ProjectDraft
  isOpen: boolean
  onChange: (key: keyof ProjectDraft) => (value: string) => void
}) {
  return (
    <details open={isOpen}>
      <summary>Questions and notifications</summary>
      <label className="form-check">
        <input
          type="checkbox"
          checked={draft.planner === 'on'}
          onChange={({ target }) => onChange('planner')(target.checked ? 'on' : 'off')}
        />
        The planner tries to answer questions first, from the sources
      </label>
      <div className="form-row">
        <label htmlFor="project-sources">Sources</label>
        <textarea
          id="project-sources"
          name="sources"
          className="field mono"
          rows={4}
          spellCheck={false}
          autoComplete="off"
          value={draft.sources}
          aria-describedby="project-sources-help"
          onChange={({ target }) => onChange('sources')(target.value)}
        />
        <p className="form-help" id="project-sources-help">
          What the planner may read, one a line: paths and globs in the repository, and absolute
          paths of files and folders outside it.
        </p>
      </div>
      <div className="form-row">
        <label htmlFor="project-skill">When to ask</label>
        <textarea
          id="project-skill"
          name="skill"
          className="field"
          rows={3}
          maxLength={50_000}
          value={draft.skill}
          aria-describedby="project-skill-help"
          onChange={({ target }) => onChange('skill')(target.value)}
        />
        <p className="form-help" id="project-skill-help">
          This project’s own words on when to assume and when to ask. Agents get them with Ballet’s.
        </p>
      </div>
      <div className="form-row">
        <span className="form-label">Notifications</span>
        <NotifyBoxes
          label="Notifications of this project"
          chosen={kindsOf(draft.notify)}
          onChange={(chosen) => onChange('notify')(chosen.join(' '))}
        />
      </div>
    </details>
  )
}
