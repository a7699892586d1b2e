import type { ReactNode } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { bridge } from '../../sync/bridge.ts'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
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

/** What came of it, and the two buttons; `does` and `doing` name what the form is for. */
export function MoveActs({
  move: { busy, refusal },
  does,
  doing,
  onClose,
}: {
  move: { busy: boolean; refusal: Refusal | null }
  does: string
  doing: string
  onClose: () => void
}) {
  return (
    <>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
      <div className="page-acts">
        <button type="submit" className="btn btn-main" aria-disabled={busy}>
          {busy ? doing : does} <Key keys="Enter" />
        </button>
        <button type="button" className="btn" onClick={onClose}>
          {busy ? 'Close; it goes on' : 'Cancel'} <Key keys="Escape" />
        </button>
      </div>
    </>
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
