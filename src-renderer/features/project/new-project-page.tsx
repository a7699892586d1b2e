import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { useSeconds } from '../../stores/clock.ts'
import { replacePage } from '../../stores/layout.ts'
import { bridge } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { elapsed } from '../../ui/words.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import {
  checkProject,
  emptyProject,
  nameOfRepo,
  type ProjectDraft,
  projectSettings,
  type Wrong,
} from './project-form.ts'

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

/** A new project: the host asks its remote before anything is stored. */
export function NewProjectPage({ pane }: { pane: number }) {
  const client = useClient()
  const [draft, setDraft] = useState<ProjectDraft>(emptyProject)
  const [wrong, setWrong] = useState<Wrong>({})
  const [checking, setChecking] = useState<number | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const command = useRef(newCommand())
  const repoBox = useRef<HTMLInputElement>(null)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => repoBox.current?.focus(), [])
  const busy = checking !== null

  const set = (key: keyof ProjectDraft) => (value: string) => {
    setDraft((before) => ({ ...before, [key]: value }))
    setWrong((before) => ({ ...before, [key]: undefined }))
    setRefusal(null)
  }

  const create = async () => {
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
    const outcome = await attempt(() =>
      client.projects.add({ ...projectSettings(draft), commandId: command.current }),
    )
    setChecking(null)
    if (outcome.ok) return replacePage(pane, { page: 'new-ticket', project: outcome.value.id })
    if (outcome.certain) command.current = newCommand()
    setRefusal(outcome.refusal)
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
    <>
      <PaneHead pane={pane} title="New project" />
      <div className="page">
        <form
          ref={form}
          className="form page-narrow"
          aria-label="New project"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            void create()
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
            <Row
              id="project-branch"
              label="Branch"
              help="Where work starts from."
              wrong={wrong.branch}
            >
              <input
                {...text('branch', 'project-branch', 'the remote’s default')}
                autoComplete="off"
                spellCheck={false}
              />
            </Row>
          </div>
          <details>
            <summary>Runtime, setup and limits</summary>
            <div className="form-row">
              <label htmlFor="project-permission">Permission</label>
              <select
                id="project-permission"
                name="permission"
                className="field"
                value={draft.permission}
                onChange={(event) =>
                  setDraft((before) => ({
                    ...before,
                    permission: event.target.value as ProjectDraft['permission'],
                  }))
                }
              >
                <option value="full">full · does what it needs in its workspace</option>
                <option value="edits">edits · edits files, asks for the rest</option>
                <option value="ask">ask · asks for everything that changes something</option>
              </select>
            </div>
            <Row id="project-model" label="Model" wrong={wrong.model}>
              <input
                {...text('model', 'project-model', 'the runtime’s own choice')}
                autoComplete="off"
                spellCheck={false}
              />
            </Row>
            <Row
              id="project-setup"
              label="Setup command"
              help="Prepares a fresh workspace, such as npm ci. Its output is in the timeline."
              wrong={wrong.setup}
            >
              <textarea {...text('setup', 'project-setup')} rows={2} spellCheck={false} />
            </Row>
            <Row
              id="project-env"
              label="Environment"
              help="One NAME=value a line. Values are never shown again."
              wrong={wrong.env}
            >
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
                help="How long a session waits for you."
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
          {refusal === null ? null : <RefusalNote refusal={refusal} />}
          <div className="page-acts">
            <button type="submit" className="btn btn-main" disabled={busy}>
              Add project <Key keys="Enter" />
            </button>
            <button
              type="button"
              className="btn"
              onClick={() => replacePage(pane, { page: 'home' })}
            >
              Cancel
            </button>
            {checking === null ? null : <Checking since={checking} />}
          </div>
        </form>
      </div>
    </>
  )
}
