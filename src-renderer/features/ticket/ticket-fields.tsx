import type { RefObject } from 'react'
import '../../sync/without-jit.ts'
import { type Project, Stage } from '../../../src-shared/records.ts'
import { runtimeTitle } from '../../stores/runtime-reports.ts'
import { PastedList, type usePasted } from '../../ui/pasted.tsx'
import { priorityWord } from '../../ui/words.ts'

/** The stage of a ticket: one of the project's, or another. */
export function StageField({
  value,
  project,
  onChange,
}: {
  value: string
  project: Project | undefined
  onChange: (stage: string) => void
}) {
  const known = new Set(['implement', ...Object.keys(project?.stages ?? {})])
  const settings = project?.stages[value.trim()]
  const runtime = settings?.runtime ?? project?.runtime
  const isName = Stage.safeParse(value.trim()).success
  return (
    <div className="form-row">
      <label htmlFor="ticket-stage">Stage</label>
      <input
        id="ticket-stage"
        className="field"
        list="ticket-stages"
        value={value}
        maxLength={40}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={!isName}
        aria-describedby="ticket-stage-help"
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id="ticket-stages">
        {[...known].map((stage) => (
          <option key={stage} value={stage} />
        ))}
      </datalist>
      <p id="ticket-stage-help" className={isName ? 'form-help' : 'form-wrong'}>
        {isName
          ? runtime === undefined
            ? ''
            : `Runs with ${runtimeTitle(runtime)}.`
          : 'Small letters, digits and -, beginning with a letter.'}
      </p>
    </div>
  )
}

export function PriorityField({
  value,
  onChange,
}: {
  value: number
  onChange: (priority: number) => void
}) {
  return (
    <div className="form-row">
      <label htmlFor="ticket-priority">Priority</label>
      <select
        id="ticket-priority"
        className="field"
        value={value}
        onChange={(event) => onChange(Number(event.target.value))}
      >
        {[1, 2, 3, 4, 5].map((priority) => (
          <option key={priority} value={priority}>
            {priority} · {priorityWord(priority)}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Title and text of a ticket, new or known. */
export function TicketText({
  title,
  titleBox,
  onTitle,
  body,
  onBody,
  pasted,
  help,
}: {
  title: string
  titleBox: RefObject<HTMLInputElement | null>
  onTitle: (title: string) => void
  body: string
  onBody: (body: string) => void
  pasted: ReturnType<typeof usePasted>
  help: string
}) {
  return (
    <>
      <div className="form-row">
        <label htmlFor="ticket-title">Title</label>
        <input
          id="ticket-title"
          ref={titleBox}
          className="field"
          value={title}
          maxLength={500}
          required
          autoComplete="off"
          onChange={(event) => onTitle(event.target.value)}
        />
      </div>
      <div className="form-row">
        <label htmlFor="ticket-body">What shall be done</label>
        <textarea
          id="ticket-body"
          className="field"
          rows={12}
          onPaste={(event) => {
            if (pasted.paste(event.clipboardData.getData('text/plain'))) event.preventDefault()
          }}
          value={body}
          aria-describedby="ticket-body-help"
          onChange={(event) => onBody(pasted.keep(event.target.value))}
        />
        <PastedList pieces={pasted.pieces} onChange={pasted.set} />
        <p id="ticket-body-help" className="form-help">
          {help}
        </p>
      </div>
    </>
  )
}
