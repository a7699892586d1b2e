import { type FormEvent, useEffect, useRef, useState } from 'react'
import '../../sync/without-jit.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { AcpAgentName, type RuntimeName } from '../../../src-shared/runtimes.ts'
import type { Settings } from '../../../src-shared/settings.ts'
import { openPage } from '../../stores/layout.ts'
import {
  lookForRuntimes,
  type RuntimeReport,
  runtimeNames,
  runtimeTitle,
  useRuntimeReports,
} from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { InlineCode } from '../../ui/inline-code.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { RuntimeState } from '../project/runtime-field.tsx'
import { changeSettings } from './change.ts'
import { commandLine, wordsOf } from './command-line.ts'
import { Part } from './part.tsx'

/** Where a runtime is, where that is not to be looked for. */
function RuntimePath({ runtime, path }: { runtime: RuntimeName; path: string | undefined }) {
  const client = useClient()
  const [typed, setTyped] = useState(path ?? '')
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const [isSaved, setSaved] = useState(false)
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => setTyped(path ?? ''), [path])
  const isChanged = typed.trim() !== (path ?? '')
  const save = async (given: string) => {
    const problem = await changeSettings(client, {
      runtimePaths: { [runtime]: given === '' ? null : given },
    })
    setRefusal(problem)
    setSaved(problem === null)
    if (problem === null) void lookForRuntimes(client)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged) void save(typed.trim())
      }}
    >
      <div className="page-acts">
        <input
          ref={box}
          className="field mono"
          aria-label={`Path of ${runtimeTitle(runtime)}`}
          value={typed}
          placeholder="found on the PATH"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setTyped(event.target.value)
            setSaved(false)
          }}
        />
        {/* Not disabled: a button that is loses the focus. */}
        <button type="submit" className="btn" aria-disabled={!isChanged}>
          Save
        </button>
        {path === undefined ? null : (
          <button
            type="button"
            className="btn"
            onClick={() => {
              box.current?.focus()
              void save('')
            }}
          >
            Look for it again
          </button>
        )}
        {isSaved && !isChanged ? (
          <span className="dim" role="status">
            Saved.
          </span>
        ) : null}
      </div>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </form>
  )
}

/** A runtime: how it stands on this machine, and where it is looked for. */
function RuntimeRow({
  runtime,
  report,
  path,
}: {
  runtime: RuntimeName
  report: RuntimeReport | undefined
  path: string | undefined
}) {
  const isWell = report !== undefined && report.problem === null && report.path !== null
  const look = isWell ? 'on' : report === undefined || report.path === null ? 'quiet' : 'bad'
  const tested = report?.versions.tested ?? []
  const [isOpen, setOpen] = useState(path !== undefined)
  return (
    <details
      className="runtime"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <StateDot look={look} />
        <strong>{runtimeTitle(runtime)}</strong>
        <span className="dim">
          <RuntimeState runtime={runtime} report={report} />
        </span>
      </summary>
      <div className="runtime-body">
        {report?.path == null ? null : <p className="mono dim">{report.path}</p>}
        {tested.length === 0 ? null : <p className="dim">Tested with {tested.join(', ')}.</p>}
        {report?.notice == null ? null : (
          <p className="dim">
            <InlineCode text={`${report.notice.message} ${report.notice.hint ?? ''}`} />
          </p>
        )}
        <RuntimePath runtime={runtime} path={path} />
      </div>
    </details>
  )
}

/** The agents of the Agent Client Protocol that a person added, and the form for one more. */
function OwnAgents({ agents }: { agents: Settings['acpAgents'] }) {
  const client = useClient()
  const [name, setName] = useState('')
  const [title, setTitle] = useState('')
  const [line, setLine] = useState('')
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const box = useRef<HTMLInputElement>(null)
  const give = async (change: Parameters<typeof changeSettings>[1]) => {
    const problem = await changeSettings(client, change)
    setRefusal(problem)
    if (problem === null) void lookForRuntimes(client)
    return problem === null
  }
  const words = wordsOf(line)
  const [command, ...args] = words ?? []
  const isReady = AcpAgentName.safeParse(name.trim()).success && command !== undefined
  const add = async (event: FormEvent) => {
    event.preventDefault()
    if (!isReady || command === undefined) return
    const known = name.trim()
    const agent = { title: title.trim() === '' ? known : title.trim(), command, args }
    if (await give({ acpAgents: { [known]: agent } })) {
      setName('')
      setTitle('')
      setLine('')
    }
    box.current?.focus()
  }
  return (
    <>
      {Object.keys(agents).length === 0 ? null : (
        <ul className="page-list" aria-label="Added agents">
          {Object.entries(agents).map(([each, agent]) => (
            <li key={each} className="page-row">
              <span className="clip">
                <strong>{agent.title}</strong> <code>acp:{each}</code>{' '}
                <code className="dim">{commandLine([agent.command, ...agent.args])}</code>
              </span>
              <button
                type="button"
                className="btn"
                aria-label={`Change ${agent.title}`}
                onClick={() => {
                  setName(each)
                  setTitle(agent.title)
                  setLine(commandLine([agent.command, ...agent.args]))
                  box.current?.focus()
                }}
              >
                Change
              </button>
              <button
                type="button"
                className="btn-quiet"
                aria-label={`Take away ${agent.title}`}
                onClick={() => {
                  box.current?.focus()
                  void give({ acpAgents: { [each]: null } })
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <form className="own-agent" onSubmit={(event) => void add(event)}>
        <input
          ref={box}
          className="field mono"
          aria-label="Name of the agent"
          placeholder="name"
          value={name}
          maxLength={40}
          autoComplete="off"
          spellCheck={false}
          aria-invalid={name.trim() !== '' && !AcpAgentName.safeParse(name.trim()).success}
          onChange={({ target }) => setName(target.value)}
        />
        <input
          className="field"
          aria-label="What it is called"
          placeholder="what it is called"
          value={title}
          maxLength={80}
          autoComplete="off"
          onChange={({ target }) => setTitle(target.value)}
        />
        <input
          className="field mono"
          aria-label="Its command line"
          placeholder="my-agent --acp"
          value={line}
          autoComplete="off"
          spellCheck={false}
          aria-invalid={words === null}
          onChange={({ target }) => setLine(target.value)}
        />
        <button type="submit" className="btn" aria-disabled={!isReady}>
          {Object.hasOwn(agents, name.trim()) ? 'Save it' : 'Add it'}
        </button>
      </form>
      {words === null ? (
        <p className="form-wrong">A quote in the command line is not closed.</p>
      ) : null}
      {refusal === null ? null : <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />}
    </>
  )
}

/** The coding agents: what is on this machine, where it is looked for, and agents that a person adds. */
export function RuntimePart({ settings }: { settings: Settings }) {
  const client = useClient()
  const { reports, busy, refusal } = useRuntimeReports(client)
  return (
    <>
      <Part
        title="Runtimes"
        help="The coding agents that Ballet drives. An absolute path takes the place of what is found on the PATH."
      >
        <div aria-busy={busy}>
          {runtimeNames(settings.acpAgents).map((runtime) => (
            <RuntimeRow
              key={runtime}
              runtime={runtime}
              report={reports.get(runtime)}
              path={settings.runtimePaths[runtime]}
            />
          ))}
        </div>
        {refusal === null ? null : <RefusalNote refusal={refusal} />}
        <p className="page-acts">
          <button
            type="button"
            className="btn"
            aria-disabled={busy}
            onClick={() => void lookForRuntimes(client)}
          >
            {busy ? 'Looking…' : 'Check again'}
          </button>
          <button type="button" className="btn" onClick={() => openPage({ page: 'check' })}>
            Check this machine
          </button>
        </p>
      </Part>
      <Part
        title="More agents"
        help="Any agent that speaks the Agent Client Protocol, by its command line. One with the name of a known agent takes its place."
      >
        <OwnAgents agents={settings.acpAgents} />
      </Part>
    </>
  )
}
