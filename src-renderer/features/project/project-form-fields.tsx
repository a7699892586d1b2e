import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { ProjectId } from '../../../src-shared/ids.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useSeconds } from '../../stores/clock.ts'
import { bridge } from '../../sync/bridge.ts'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { elapsed } from '../../ui/words.ts'
import {
  afterSave,
  checkProject,
  nameOfRepo,
  type ProjectDraft,
  type Wrong,
} from './project-form.ts'
import { QuestionFields } from './question-fields.tsx'
import { RuntimeField } from './runtime-field.tsx'
import { StageFields } from './stage-fields.tsx'

/** What came of giving a form to the host. `saved`: what the form holds from then on; null: it leaves its pane. */
export type Submitted = { refusal: Refusal } | { saved: ProjectDraft | null }

function Row({
  id,
  label,
  help,
  wrong,
  children,
}: {
  id: string
  label: string
  help?: string
  wrong: string | undefined
  children: ReactNode
}) {
  return (
    <div className="form-row">
      <label htmlFor={id}>{label}</label>
      {children}
      {wrong === undefined ? (
        help === undefined ? null : (
          <p className="form-help" id={`${id}-help`}>
            {help}
          </p>
        )
      ) : (
        <p className="form-wrong" id={`${id}-help`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  )
}

function Checking({ since }: { since: number }) {
  const ms = useSeconds() - since
  return (
    <span className="dim" role="status">
      {ms < 2_000 ? 'Asking the remote…' : `Asking the remote… ${elapsed(ms)}`}
    </span>
  )
}

function Variables({
  names,
  takenAway,
  onChange,
}: {
  names: readonly string[]
  takenAway: readonly string[]
  onChange: (takenAway: string[]) => void
}) {
  if (names.length === 0) return null
  return (
    <ul className="form-names" aria-label="Variables that are set">
      {names.map((name) => {
        const gone = takenAway.includes(name)
        return (
          <li key={name} data-gone={gone}>
            <code>{name}</code>
            <button
              type="button"
              className="btn-quiet"
              aria-label={gone ? `Keep ${name}` : `Take away ${name}`}
              onClick={() =>
                onChange(gone ? takenAway.filter((each) => each !== name) : [...takenAway, name])
              }
            >
              {gone ? 'keep' : '×'}
            </button>
          </li>
        )
      })}
    </ul>
  )
}

/** The settings of a project, new or known. The remote is asked by the host when they are given. */
export function ProjectForm({
  label,
  initial,
  project,
  envNames = [],
  act,
  onSubmit,
  onCancel,
}: {
  label: string
  initial: ProjectDraft
  /** Absent before it is added. */
  project?: ProjectId
  /** Variables that are set; their values are never shown. */
  envNames?: readonly string[]
  act: string
  onSubmit: (draft: ProjectDraft, takenAway: readonly string[]) => Promise<Submitted>
  onCancel: () => void
}) {
  const [draft, setDraft] = useState<ProjectDraft>(initial)
  const [takenAway, setTakenAway] = useState<string[]>([])
  const [wrong, setWrong] = useState<Wrong>({})
  const [checking, setChecking] = useState<number | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [isSaved, setSaved] = useState(false)
  const repoBox = useRef<HTMLInputElement>(null)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => repoBox.current?.focus(), [])
  const busy = checking !== null

  const set = (key: keyof ProjectDraft) => (value: string) => {
    setDraft((before) => ({ ...before, [key]: value }))
    setWrong((before) => ({ ...before, [key]: undefined }))
    setRefusal(null)
    setSaved(false)
  }

  const takeAway = (names: string[]) => {
    setTakenAway(names)
    setSaved(false)
  }

  const submit = async () => {
    if (busy) return
    const found = checkProject(draft)
    setWrong(found)
    const [first] = Object.keys(found)
    if (first !== undefined) {
      form.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
      return
    }
    setChecking(Date.now())
    setRefusal(null)
    setSaved(false)
    const outcome = await onSubmit(draft, takenAway)
    setChecking(null)
    if ('refusal' in outcome) return setRefusal(outcome.refusal)
    const { saved } = outcome
    if (saved === null) return
    setDraft((now) => afterSave(now, draft, saved))
    setTakenAway((now) => now.filter((name) => !takenAway.includes(name)))
    setSaved(true)
  }

  const text = (key: keyof ProjectDraft, id: string, placeholder = '') => ({
    id,
    name: key,
    className: 'field',
    value: draft[key],
    placeholder,
    'aria-invalid': wrong[key] !== undefined,
    'aria-describedby': `${id}-help`,
    onChange: (event: { target: { value: string } }) => set(key)(event.target.value),
  })

  return (
    <form
      ref={form}
      className="form page-narrow"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Row
        id="project-repo"
        label="Repository"
        help="What git can fetch: https://…, git@host:team/repo.git, or a folder of this machine. Your own git sign-in is used."
        wrong={wrong.repo}
      >
        <div className="page-acts">
          <input
            {...text('repo', 'project-repo')}
            ref={repoBox}
            autoComplete="off"
            spellCheck={false}
          />
          {bridge() === undefined ? null : (
            <button
              type="button"
              className="btn"
              onClick={() => {
                void bridge()
                  ?.chooseFolder()
                  .then((folder) => {
                    if (folder !== undefined) set('repo')(folder)
                  })
              }}
            >
              Choose a folder…
            </button>
          )}
        </div>
      </Row>
      <div className="form-two">
        <Row
          id="project-name"
          label="Name"
          help="Begins the keys of its tickets."
          wrong={wrong.name}
        >
          <input
            {...text('name', 'project-name', nameOfRepo(draft.repo))}
            autoComplete="off"
            maxLength={80}
          />
        </Row>
        <Row id="project-branch" label="Branch" help="Where work starts from." wrong={wrong.branch}>
          <input
            {...text('branch', 'project-branch', 'the remote’s default')}
            autoComplete="off"
            spellCheck={false}
          />
        </Row>
      </div>
      <details open={envNames.length > 0 || initial.repo !== ''}>
        <summary>Runtime, permission, setup and limits</summary>
        <RuntimeField
          value={draft.runtime}
          onChange={set('runtime')}
          {...(project === undefined ? {} : { project })}
        />
        <div className="form-row">
          <label htmlFor="project-permission">Permission</label>
          <select
            id="project-permission"
            name="permission"
            className="field"
            value={draft.permission}
            onChange={(event) => set('permission')(event.target.value)}
          >
            <option value="full">
              full · asks nothing; can do whatever you can on this machine
            </option>
            <option value="edits">
              edits · reads and edits files in its workspace; asks before the rest
            </option>
            <option value="ask">ask · asks before it changes anything</option>
          </select>
          <p className="form-help">
            Which commands count as harmless is the runtime’s own decision: Codex and opencode ask
            before every command, Claude Code not before those that only read.
          </p>
        </div>
        <Row id="project-model" label="Model" wrong={wrong.model}>
          <input
            {...text('model', 'project-model', 'the runtime’s own choice')}
            autoComplete="off"
            spellCheck={false}
          />
        </Row>
        <Row
          id="project-args"
          label="Arguments"
          help="For the runtime’s command line, one a line."
          wrong={wrong.runtimeArgs}
        >
          <textarea {...text('runtimeArgs', 'project-args')} rows={2} spellCheck={false} />
        </Row>
        <StageFields text={draft.stages} wrong={wrong.stages} onChange={set('stages')} />
        <Row
          id="project-setup"
          label="Setup command"
          help="Prepares a fresh workspace, such as npm ci. Its output is in the timeline."
          wrong={wrong.setup}
        >
          <textarea {...text('setup', 'project-setup')} rows={2} spellCheck={false} />
        </Row>
        <Row id="project-setup-limit" label="Limit of the setup command" wrong={wrong.setupLimit}>
          <input {...text('setupLimit', 'project-setup-limit', '10m')} autoComplete="off" />
        </Row>
        <Row
          id="project-env"
          label="Environment"
          help="One NAME=value a line. Values are never shown again."
          wrong={wrong.env}
        >
          <Variables names={envNames} takenAway={takenAway} onChange={takeAway} />
          <textarea
            {...text('env', 'project-env')}
            rows={3}
            spellCheck={false}
            autoComplete="off"
          />
        </Row>
        <div className="form-two">
          <Row
            id="project-window"
            label="Online window"
            help="How long a session waits for you before it parks: 90s, 10m, 2h; now parks at once, never keeps it online."
            wrong={wrong.window}
          >
            <input {...text('window', 'project-window', '10m')} autoComplete="off" />
          </Row>
          <Row id="project-max" label="Sessions at once" wrong={wrong.maxSessions}>
            <input
              {...text('maxSessions', 'project-max', 'no limit')}
              inputMode="numeric"
              autoComplete="off"
            />
          </Row>
        </div>
      </details>
      <QuestionFields
        draft={draft}
        isOpen={envNames.length > 0 || initial.repo !== ''}
        onChange={set}
      />
      <div className="form-acts">
        {refusal === null ? null : <RefusalNote refusal={refusal} />}
        <div className="page-acts">
          {/* Not disabled: a button that is loses the focus. */}
          <button type="submit" className="btn btn-main" aria-disabled={busy}>
            {act} <Key keys="Enter" />
          </button>
          <button type="button" className="btn" onClick={onCancel}>
            Cancel
          </button>
          {checking === null ? null : <Checking since={checking} />}
          {isSaved ? (
            <span className="dim" role="status">
              Saved.
            </span>
          ) : null}
        </div>
      </div>
    </form>
  )
}
