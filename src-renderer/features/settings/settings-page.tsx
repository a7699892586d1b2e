import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { HostInfo } from '../../../src-shared/contract.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Settings, Theme } from '../../../src-shared/settings.ts'
import { themes, useTheme } from '../../stores/theme.ts'
import { bridge } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { FleetSize } from '../fleet/fleet-size.tsx'
import { attempt } from '../session/actions.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { changeSettings, chooseTheme } from './change.ts'
import { Part } from './part.tsx'
import { AnswersPart, DrainPart, NotificationsPart, PlannerPart } from './question-parts.tsx'
import { RuntimePart } from './runtime-part.tsx'

const themeWord: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' }

function ThemePart() {
  const client = useClient()
  const theme = useTheme()
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  return (
    <Part title="Theme">
      <div className="choices" role="radiogroup" aria-label="Theme">
        {themes.map((each) => (
          <label key={each} className="choice">
            <input
              type="radio"
              name="theme"
              checked={theme === each}
              onChange={() => void chooseTheme(client, each).then(setRefusal)}
            />
            {themeWord[each]}
          </label>
        ))}
      </div>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </Part>
  )
}

function EnvironmentPart({ settings }: { settings: Settings }) {
  const client = useClient()
  const [typed, setTyped] = useState('')
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const box = useRef<HTMLInputElement>(null)
  const { passEnv } = settings
  const give = async (names: string[]) => {
    const problem = await changeSettings(client, { passEnv: names })
    setRefusal(problem)
    return problem === null
  }
  const add = async (event: FormEvent) => {
    event.preventDefault()
    const name = typed.trim()
    if (name === '') return
    if (await give([...new Set([...passEnv, name])])) setTyped('')
    box.current?.focus()
  }
  return (
    <Part
      title="Environment"
      help="Names of variables that reach git, setup commands and runtimes, besides the usual ones. Read when Ballet starts."
    >
      {passEnv.length === 0 ? (
        <p className="faint">None besides the usual ones.</p>
      ) : (
        <ul className="form-names" aria-label="Passed variables">
          {passEnv.map((name) => (
            <li key={name}>
              <code>{name}</code>
              <button
                type="button"
                className="btn-quiet"
                aria-label={`Do not pass ${name}`}
                onClick={() => {
                  box.current?.focus()
                  void give(passEnv.filter((each) => each !== name))
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <form className="page-acts" onSubmit={(event) => void add(event)}>
        <input
          ref={box}
          className="field mono set-name"
          aria-label="Name of a variable"
          placeholder="HTTPS_PROXY"
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" className="btn" aria-disabled={typed.trim() === ''}>
          Pass it on
        </button>
      </form>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </Part>
  )
}

function FolderPart({ info }: { info: HostInfo }) {
  const [problem, setProblem] = useState<Refusal | null>(null)
  const show = async () => {
    const shown = await bridge()?.showDataFolder()
    setProblem(
      shown === true
        ? null
        : {
            code: 'folder.not-shown',
            message: 'The system could not show the folder.',
            hint: 'Copy its path and open it yourself.',
          },
    )
  }
  return (
    <Part
      title="Data folder"
      help="Database, workspaces, settings and logs. Chosen at the start with --data."
    >
      <div className="page-acts">
        <code className="clip" title={info.dataDir}>
          {info.dataDir}
        </code>
        <CopyButton text={info.dataDir} label="Copy the data folder’s path" />
        {bridge() === undefined ? null : (
          <button type="button" className="btn" onClick={() => void show()}>
            Show it
          </button>
        )}
      </div>
      {problem === null ? null : <RefusalNote refusal={problem} onClose={() => setProblem(null)} />}
    </Part>
  )
}

function VersionPart({ info }: { info: HostInfo }) {
  const versions = bridge()?.versions
  return (
    <Part title="Versions">
      <p className="dim">
        Ballet {info.version} · {info.kind} host · contract {info.contract}
      </p>
      {versions === undefined ? null : (
        <p className="dim">
          Runs on Electron {versions.electron} · Chromium {versions.chrome} · Node {versions.node}
        </p>
      )}
    </Part>
  )
}

/** What a person sets for this data folder. Every change holds at once, unless it says otherwise. */
export function SettingsPage({ pane }: { pane: number }) {
  const client = useClient()
  const settings = useRecords((records) => records.settings.get('settings'))
  const [info, setInfo] = useState<HostInfo | null>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  useEffect(() => {
    let isShown = true
    void attempt(() => client.host.info()).then((outcome) => {
      if (!isShown) return
      if (outcome.ok) setInfo(outcome.value)
      else setRefusal(outcome.refusal)
    })
    return () => {
      isShown = false
    }
  }, [client])
  return (
    <>
      <PaneHead pane={pane} title="Settings" />
      <div className="page">
        {refusal === null ? null : <RefusalNote refusal={refusal} />}
        {settings === undefined ? (
          <p className="dim">The host has told no settings yet.</p>
        ) : (
          <>
            <Part
              title="Fleet"
              help="How many agents this machine runs. A smaller fleet drains: nothing is cut off."
            >
              <FleetSize />
            </Part>
            <DrainPart settings={settings} />
            <RuntimePart settings={settings} />
            <PlannerPart settings={settings} />
            <AnswersPart settings={settings} />
            <NotificationsPart settings={settings} />
            <ThemePart />
            <EnvironmentPart settings={settings} />
          </>
        )}
        {info === null ? null : (
          <>
            <FolderPart info={info} />
            <VersionPart info={info} />
          </>
        )}
      </div>
    </>
  )
}
