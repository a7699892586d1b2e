import type { Question } from '../../../src-shared/questions.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { Key } from '../../ui/key.tsx'

/** The choices of a question, each with its number as the key that picks it. */
export function Options({
  question,
  chosen,
  disabled,
  onPick,
}: {
  question: Pick<Question, 'id' | 'options' | 'multiple' | 'key'>
  chosen: readonly number[]
  disabled: boolean
  onPick: (option: number) => void
}) {
  const { id, options, multiple, key } = question
  if (options.length === 0) return null
  return (
    <fieldset className="q-options" disabled={disabled}>
      <legend className="unseen">
        {key}: {multiple ? 'several may be chosen' : 'one of these'}
      </legend>
      {options.map(({ label, detail, recommended }, at) => {
        const number = at + 1
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: options are known by their number
          <label key={at} className="q-option" data-chosen={chosen.includes(number)}>
            <input
              className="unseen"
              type={multiple ? 'checkbox' : 'radio'}
              name={`options-${id}`}
              checked={chosen.includes(number)}
              onChange={() => onPick(number)}
            />
            <Key keys={String(number % 10)} />
            <span className="q-option-text">
              <span className="q-option-label">
                <InlineCode text={label} />
              </span>
              {recommended ? <span className="q-recommended">recommended</span> : null}
              {detail === undefined || detail === '' ? null : (
                <span className="q-option-detail">
                  <InlineCode text={detail} />
                </span>
              )}
            </span>
            <span className="q-mark" data-multiple={multiple} aria-hidden="true" />
          </label>
        )
      })}
      {multiple ? <p className="form-help">Several may be chosen.</p> : null}
    </fieldset>
  )
}
