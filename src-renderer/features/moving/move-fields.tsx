import type { ReactNode } from 'react'
import { bridge } from '../../sync/bridge.ts'
import type { MoveDraft, WrongMove } from './moves.ts'

/** A labelled field with what is wrong with it, or what it is for. */
export function MoveField({
  id,
  label,
  help,
  wrong,
  children,
}: {
  id: string
  label: string
  help?: string
  wrong?: string | undefined
  children: ReactNode
}) {
  return (
    <div className="form-row">
      <label htmlFor={id}>{label}</label>
      {children}
      {wrong !== undefined ? (
        <p className="form-wrong" id={`${id}-help`} role="alert">
          {wrong}
        </p>
      ) : help === undefined ? null : (
        <p className="form-help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  )
}

/** The file and its passphrase. */
export function MoveFields({
  draft,
  wrong,
  save,
  onChange,
}: {
  draft: MoveDraft
  wrong: WrongMove
  /** The name that a new file is offered; absent where one that is there is to be chosen. */
  save?: string
  onChange: (key: keyof MoveDraft, value: string) => void
}) {
  const field = (key: keyof MoveDraft) => ({
    id: `move-${key}`,
    name: key,
    value: draft[key] ?? '',
    'aria-invalid': wrong[key] !== undefined,
    'aria-describedby': `move-${key}-help`,
    onChange: ({ target }: { target: { value: string } }) => onChange(key, target.value),
  })
  const choose = async () => {
    const file = await bridge()?.chooseFile(save)
    if (file !== undefined) onChange('file', file)
  }
  return (
    <>
      <MoveField
        id="move-file"
        label="File"
        help={save === undefined ? 'What the export wrote.' : 'A new one; nothing is written over.'}
        wrong={wrong.file}
      >
        <div className="page-acts">
          <input
            {...field('file')}
            className="field mono"
            placeholder={`/…/${save ?? 'shop-1.ballet'}`}
            autoComplete="off"
            spellCheck={false}
          />
          {bridge() === undefined ? null : (
            <button type="button" className="btn" onClick={() => void choose()}>
              Choose…
            </button>
          )}
        </div>
      </MoveField>
      <div className="form-two">
        <MoveField
          id="move-passphrase"
          label="Passphrase"
          help={
            save === undefined ? 'The one of the export.' : 'Without it nobody can open the file.'
          }
          wrong={wrong.passphrase}
        >
          <input {...field('passphrase')} type="password" className="field" autoComplete="off" />
        </MoveField>
        {draft.again === undefined ? null : (
          <MoveField id="move-again" label="Once more" wrong={wrong.again}>
            <input {...field('again')} type="password" className="field" autoComplete="off" />
          </MoveField>
        )}
      </div>
    </>
  )
}
