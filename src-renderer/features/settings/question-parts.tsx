import { useEffect, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Settings, SettingsChange } from '../../../src-shared/settings.ts'
import type { NotificationReport } from '../../../src-shared/window-bridge.ts'
import { bridge } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords } from '../../sync/records.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { NotifyBoxes } from '../project/question-fields.tsx'
import { RuntimeSelect } from '../project/runtime-field.tsx'
import { changeSettings } from './change.ts'
import { Part } from './part.tsx'

/** Gives each change at once, and keeps why the last one was not taken. */
function useChange() {
  const client = useClient()
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const change = async (what: SettingsChange) => {
    const problem = await changeSettings(client, what)
    setRefusal(problem)
    return problem === null
  }
  return { refusal, change }
}

/** A number that is saved with Enter or when the field is left; what cannot be is put back. */
function NumberField({
  label,
  unit,
  value,
  least,
  most,
  step,
  onSave,
}: {
  label: string
  unit: string
  value: number
  least: number
  most: number
  step: number
  onSave: (value: number) => Promise<boolean>
}) {
  const [typed, setTyped] = useState(String(value))
  useEffect(() => setTyped(String(value)), [value])
  const save = async () => {
    const wanted = Number(typed)
    if (wanted === value) return
    const fits = typed.trim() !== '' && wanted >= least && wanted <= most
    if (!fits || !(await onSave(wanted))) setTyped(String(value))
  }
  return (
    <label className="set-number">
      <span>{label}</span>
      <input
        className="field"
        type="number"
        min={least}
        max={most}
        step={step}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onBlur={() => void save()}
        onKeyDown={(event) => {
          if (event.key === 'Enter') void save()
        }}
      />
      <span className="dim">{unit}</span>
    </label>
  )
}

export function PlannerPart({ settings }: { settings: Settings }) {
  const { refusal, change } = useChange()
  const { planner } = settings
  const runtimes = useRecords((records) => records.runtimes)
  const [model, setModel] = useState(planner.model ?? '')
  useEffect(() => setModel(planner.model ?? ''), [planner.model])
  const saveModel = () => {
    const wanted = model.trim()
    if (wanted === (planner.model ?? '')) return
    void change({ planner: { model: wanted === '' ? null : wanted } })
  }
  return (
    <Part
      title="Planner"
      help="A short, read-only run that tries to answer questions first, from the project’s sources. What it cannot prove with a quote reaches you as a draft. It takes no agent of the fleet."
    >
      <label className="form-check">
        <input
          type="checkbox"
          checked={planner.enabled}
          onChange={({ target }) => void change({ planner: { enabled: target.checked } })}
        />
        Try to answer questions first
      </label>
      <NumberField
        label="Time limit"
        unit="seconds"
        value={planner.limitSeconds}
        least={5}
        most={900}
        step={1}
        onSave={(limitSeconds) => change({ planner: { limitSeconds: Math.round(limitSeconds) } })}
      />
      <NumberField
        label="Cost limit"
        unit="US dollars a question"
        value={planner.costLimitUsd}
        least={0}
        most={100}
        step={0.1}
        onSave={(costLimitUsd) => change({ planner: { costLimitUsd } })}
      />
      <label className="set-number" htmlFor="planner-runtime">
        <span>Runtime</span>
        <RuntimeSelect
          id="planner-runtime"
          describedBy="planner-runtime-help"
          value={planner.runtime}
          only={(name) => runtimes.get(name)?.capabilities.planner === true}
          onChange={(runtime) => {
            if (runtime !== '') void change({ planner: { runtime } })
          }}
        />
      </label>
      <p className="form-help" id="planner-runtime-help">
        Only a runtime with a run that is sure to read the sources and nothing else can be the
        planner.
      </p>
      <label className="set-number">
        <span>Model</span>
        <input
          className="field mono"
          value={model}
          placeholder="the project’s"
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          onChange={({ target }) => setModel(target.value)}
          onBlur={saveModel}
          onKeyDown={(event) => {
            if (event.key === 'Enter') saveModel()
          }}
        />
      </label>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </Part>
  )
}

export function AnswersPart({ settings }: { settings: Settings }) {
  const { refusal, change } = useChange()
  return (
    <Part title="Answers">
      <label className="form-check">
        <input
          type="checkbox"
          checked={settings.answerUndo}
          onChange={({ target }) => void change({ answerUndo: target.checked })}
        />
        Hold an answer for 5 seconds, in which it can be taken back
      </label>
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </Part>
  )
}

export function DrainPart({ settings }: { settings: Settings }) {
  const { refusal, change } = useChange()
  return (
    <Part
      title="Drain and quit"
      help="Every session is parked first: one that waits at once, one that works when its turn ends or this time is over."
    >
      <NumberField
        label="Grace"
        unit="seconds for a turn that runs"
        value={settings.drainGraceSeconds}
        least={0}
        most={3_600}
        step={1}
        onSave={(seconds) => change({ drainGraceSeconds: Math.round(seconds) })}
      />
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </Part>
  )
}

/** Whether anything shows notifications here; nothing where that is well or not known yet. */
function NotificationState() {
  const [report, setReport] = useState<NotificationReport | null>(null)
  useEffect(() => {
    let isShown = true
    void bridge()
      ?.notifications()
      .then((found) => {
        if (isShown) setReport(found)
      })
    return () => {
      isShown = false
    }
  }, [])
  if (report?.problem == null) return null
  return <RefusalNote refusal={report.problem} />
}

export function NotificationsPart({ settings }: { settings: Settings }) {
  const { refusal, change } = useChange()
  return (
    <Part
      title="Notifications"
      help="On the desktop, none of a session that you look at. A project can switch off more."
    >
      <NotifyBoxes
        label="Notifications"
        chosen={settings.notify}
        onChange={(notify) => void change({ notify })}
      />
      <NotificationState />
      {refusal === null ? null : <RefusalNote refusal={refusal} />}
    </Part>
  )
}
