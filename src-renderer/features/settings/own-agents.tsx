import { type FormEvent, useRef, useState } from 'react'
import { commandLine } from '../../../src-shared/command-line.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { AcpAgent } from '../../../src-shared/runtimes.ts'
import type { Settings, SettingsChange } from '../../../src-shared/settings.ts'
import { lookForRuntimes, type RuntimeReport } from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { RuntimeState } from '../project/runtime-field.tsx'
import { changeSettings } from './change.ts'
import {
  agentOf,
  checkAgent,
  emptyAgent,
  type OwnAgentDraft,
  type WrongAgent,
} from './own-agent-draft.ts'

const lineOf = ({ command, args }: AcpAgent) => commandLine([command, ...args])

function OwnAgent({
  name,
  agent,
  report,
  onChange,
  onTakeAway,
}: {
  name: string
  agent: AcpAgent
  report: RuntimeReport | undefined
  onChange: () => void
  onTakeAway: () => void
}) {
  return (
    <li className="page-row">
      <div className="grow">
        <strong>{agent.title}</strong> <code>acp:{name}</code>{' '}
        <code className="dim">{lineOf(agent)}</code>
        {report?.problem == null ? null : (
          <p className="form-wrong">
            <RuntimeState runtime={`acp:${name}`} report={report} />
          </p>
        )}
      </div>
      <button type="button" className="btn" aria-label={`Change ${agent.title}`} onClick={onChange}>
        Change
      </button>
      <button
        type="button"
        className="btn-quiet"
        aria-label={`Take away ${agent.title}`}
        onClick={onTakeAway}
      >
        ×
      </button>
    </li>
  )
}

const fields = [
  { key: 'name', label: 'Name', placeholder: 'my-agent', most: 60, isCode: true },
  { key: 'title', label: 'Called', placeholder: 'as its name', most: 80, isCode: false },
  { key: 'line', label: 'Command line', placeholder: 'my-agent --acp', most: 8_000, isCode: true },
] as const

/** The agents of the Agent Client Protocol that a person added, and the form for one more. */
export function OwnAgents({
  agents,
  reports,
}: {
  agents: Settings['acpAgents']
  reports: ReadonlyMap<string, RuntimeReport>
}) {
  const client = useClient()
  const [draft, setDraft] = useState<OwnAgentDraft>(emptyAgent)
  const [wrong, setWrong] = useState<WrongAgent>({})
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const focus = (key: string) =>
    form.current?.querySelector<HTMLElement>(`[name="${key}"]`)?.focus()
  const give = async (change: SettingsChange) => {
    const problem = await changeSettings(client, change)
    setRefusal(problem)
    if (problem === null) void lookForRuntimes(client)
    return problem === null
  }
  const set = (key: keyof OwnAgentDraft, value: string) => {
    setDraft((before) => ({ ...before, [key]: value }))
    setWrong((before) => ({ ...before, [key]: undefined }))
  }
  const check = (key: keyof OwnAgentDraft) => {
    if (draft[key].trim() !== '') setWrong((now) => ({ ...now, [key]: checkAgent(draft)[key] }))
  }
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const found = checkAgent(draft)
    const made = agentOf(draft)
    setWrong(found)
    if (made === null) return focus(Object.keys(found)[0] ?? 'name')
    if (await give({ acpAgents: { [made.name]: made.agent } })) setDraft(emptyAgent)
    focus('name')
  }
  return (
    <>
      {Object.keys(agents).length === 0 ? null : (
        <ul className="page-list" aria-label="Added agents">
          {Object.entries(agents).map(([name, agent]) => (
            <OwnAgent
              key={name}
              name={name}
              agent={agent}
              report={reports.get(`acp:${name}`)}
              onChange={() => {
                setDraft({ name, title: agent.title, line: lineOf(agent) })
                setWrong({})
                focus('name')
              }}
              onTakeAway={() => {
                focus('name')
                void give({ acpAgents: { [name]: null } })
              }}
            />
          ))}
        </ul>
      )}
      <form
        ref={form}
        className="own-agent"
        aria-label="An agent more"
        noValidate
        onSubmit={(event) => void add(event)}
      >
        {fields.map(({ key, label, placeholder, most, isCode }) => (
          <div key={key} className="form-row">
            <label htmlFor={`own-agent-${key}`}>{label}</label>
            <input
              id={`own-agent-${key}`}
              name={key}
              className={isCode ? 'field mono' : 'field'}
              placeholder={placeholder}
              value={draft[key]}
              maxLength={most}
              autoComplete="off"
              spellCheck={false}
              aria-invalid={wrong[key] !== undefined}
              aria-describedby={wrong[key] === undefined ? undefined : `own-agent-${key}-wrong`}
              onChange={({ target }) => set(key, target.value)}
              onBlur={() => check(key)}
            />
            {wrong[key] === undefined ? null : (
              <p className="form-wrong" id={`own-agent-${key}-wrong`} role="alert">
                {wrong[key]}
              </p>
            )}
          </div>
        ))}
        <button type="submit" className="btn">
          {Object.hasOwn(agents, draft.name.trim()) ? 'Save it' : 'Add it'}
        </button>
      </form>
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
    </>
  )
}
