import { type FormEvent, useState } from 'react'
import type { Session } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { RuntimeName } from '../../../src-shared/runtimes.ts'
import {
  runtimeNames,
  runtimeTitle,
  useAcpAgents,
  useRuntimeReports,
} from '../../stores/runtime-reports.ts'
import { useClient } from '../../sync/client.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Key } from '../../ui/key.tsx'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { newCommand } from '../composer/steer.ts'
import { RuntimeSelect, RuntimeState } from '../project/runtime-field.tsx'
import { attempt } from './actions.ts'
import { suggestedRuntime } from './suggested-runtime.ts'

type Choice = { runtime: RuntimeName; model: string }

/** Moves a session to another runtime or model, once the person knows what that means. */
export function ContinueDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const client = useClient()
  const { reports, busy: isLooking } = useRuntimeReports(client, session.projectId)
  const suggested = suggestedRuntime(session.runtime, runtimeNames(useAcpAgents()), reports)
  const [chosen, setChosen] = useState<Choice | null>(null)
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const ownModel = session.model ?? ''
  // A model is one of its runtime.
  const choiceOf = (runtime: RuntimeName): Choice => ({
    runtime,
    model: runtime === session.runtime ? ownModel : '',
  })
  const { runtime, model } = chosen ?? choiceOf(suggested ?? session.runtime)
  const isSame = runtime === session.runtime && model.trim() === ownModel
  const run = async (event: FormEvent) => {
    event.preventDefault()
    if (busy || isSame) return
    setBusy(true)
    const outcome = await attempt(() =>
      client.sessions.continueWith({
        ref: session.id,
        commandId: newCommand(),
        runtime,
        model: model.trim() === '' ? null : model.trim(),
      }),
    )
    setBusy(false)
    if (outcome.ok) onClose()
    else setRefusal(outcome.refusal)
  }
  return (
    <Dialog label={`Continue ${session.ticket} with another runtime`} onClose={onClose}>
      <form className="form continue" onSubmit={(event) => void run(event)}>
        <h2>Continue {session.ticket} with…</h2>
        <div className="form-two">
          <div className="form-row">
            <label htmlFor="continue-runtime">Runtime</label>
            <RuntimeSelect
              id="continue-runtime"
              describedBy="continue-help"
              value={runtime}
              project={session.projectId}
              onChange={(chosen) => {
                if (chosen === '') return
                setChosen(choiceOf(chosen))
                setRefusal(null)
              }}
            />
            <p className="form-help" id="continue-help" aria-live="polite">
              <RuntimeState runtime={runtime} report={reports.get(runtime)} />
            </p>
          </div>
          <div className="form-row">
            <label htmlFor="continue-model">Model</label>
            <input
              id="continue-model"
              className="field"
              value={model}
              maxLength={200}
              placeholder="as the project says, else its own choice"
              autoComplete="off"
              spellCheck={false}
              onChange={({ target }) => setChosen({ runtime, model: target.value })}
            />
          </div>
        </div>
        <p>
          {session.state === 'working' ? 'The running turn is interrupted. ' : ''}A new conversation
          begins in the same workspace: it gets the ticket, a summary of this timeline, and what is
          open. {runtimeTitle(session.runtime)} keeps the old conversation; the timeline goes on
          here.
        </p>
        {refusal === null ? null : <RefusalNote refusal={refusal} />}
        <div className="page-acts">
          <button type="submit" className="btn btn-main" aria-disabled={busy || isSame}>
            {busy ? 'Changing…' : `Continue with ${runtimeTitle(runtime)}`} <Key keys="Enter" />
          </button>
          <button type="button" className="btn" onClick={onClose}>
            Cancel <Key keys="Escape" />
          </button>
        </div>
        {isSame ? (
          <p className="form-help" role="status">
            {isLooking && suggested === null
              ? 'Looking at this machine…'
              : `It runs with ${runtimeTitle(runtime)}${ownModel === '' ? '' : ` and ${ownModel}`} already: choose another runtime, or another model.`}
            {!isLooking && suggested === null
              ? ' No other runtime is installed and logged in here.'
              : ''}
          </p>
        ) : null}
      </form>
    </Dialog>
  )
}
