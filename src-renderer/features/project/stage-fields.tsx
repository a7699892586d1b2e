import { useRef } from 'react'
import { RuntimeSelect } from './runtime-field.tsx'
import { type StageDraft, stageDrafts, stagesText } from './stage-drafts.ts'

/** What is different in a stage, a row each. */
export function StageFields({
  text,
  wrong,
  onChange,
}: {
  /** The rows, as the form keeps them. */
  text: string
  wrong: string | undefined
  onChange: (text: string) => void
}) {
  const stages = stageDrafts(text)
  const add = useRef<HTMLButtonElement>(null)
  const set = (at: number, change: Partial<StageDraft>) =>
    onChange(
      stagesText(stages.map((each, index) => (index === at ? { ...each, ...change } : each))),
    )
  return (
    <fieldset className="stages" aria-describedby="project-stages-help">
      <legend className="form-label">Stages</legend>
      {stages.length === 0 ? null : (
        <ul>
          {stages.map((each, at) => {
            const named = each.stage.trim() === '' ? `stage ${at + 1}` : each.stage.trim()
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row keeps its place while its name is typed
              <li key={at} className="stage">
                <input
                  name={at === 0 ? 'stages' : undefined}
                  className="field mono"
                  aria-label={`Name of stage ${at + 1}`}
                  placeholder="review"
                  value={each.stage}
                  maxLength={40}
                  autoComplete="off"
                  spellCheck={false}
                  // biome-ignore lint/a11y/noAutofocus: the row that the person just added
                  autoFocus={each.stage === ''}
                  onChange={({ target }) => set(at, { stage: target.value })}
                />
                <RuntimeSelect
                  id={`stage-runtime-${at}`}
                  label={`Runtime of ${named}`}
                  value={each.runtime}
                  none="the project’s runtime"
                  onChange={(runtime) => set(at, { runtime })}
                />
                <input
                  className="field"
                  aria-label={`Model of ${named}`}
                  placeholder={
                    each.runtime === '' ? 'model: the project’s' : 'model: the runtime’s own'
                  }
                  value={each.model}
                  maxLength={200}
                  autoComplete="off"
                  spellCheck={false}
                  onChange={({ target }) => set(at, { model: target.value })}
                />
                <button
                  type="button"
                  className="btn-quiet"
                  aria-label={`Take away ${named}`}
                  onClick={() => {
                    add.current?.focus()
                    onChange(stagesText(stages.filter((_, index) => index !== at)))
                  }}
                >
                  ×
                </button>
                <textarea
                  className="field stage-skill"
                  aria-label={`What agents are told in ${named}`}
                  placeholder="What agents are told in it besides"
                  rows={1}
                  maxLength={50_000}
                  value={each.skill}
                  onChange={({ target }) => set(at, { skill: target.value })}
                />
                <textarea
                  className="field mono stage-args"
                  aria-label={`Arguments of ${named}`}
                  placeholder={each.runtime === '' ? 'arguments: the project’s' : 'arguments: none'}
                  rows={1}
                  value={each.args}
                  autoComplete="off"
                  spellCheck={false}
                  onChange={({ target }) => set(at, { args: target.value })}
                />
              </li>
            )
          })}
        </ul>
      )}
      <button
        ref={add}
        type="button"
        className="btn"
        onClick={() =>
          onChange(
            stagesText([...stages, { stage: '', runtime: '', model: '', skill: '', args: '' }]),
          )
        }
      >
        Add a stage
      </button>
      {wrong === undefined ? (
        <p className="form-help" id="project-stages-help">
          A ticket is of one stage. One that is not listed runs as the project is set. Arguments:
          one a line.
        </p>
      ) : (
        <p className="form-wrong" id="project-stages-help" role="alert">
          {wrong}
        </p>
      )}
    </fieldset>
  )
}
