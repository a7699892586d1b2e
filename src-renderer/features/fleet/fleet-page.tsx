import '../../sync/without-jit.ts'
import { useState } from 'react'
import { type Agent, AgentState } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { openPage } from '../../stores/layout.ts'
import { useClient } from '../../sync/client.ts'
import { useRecords, useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { RefusalNote } from '../../ui/refusal-note.tsx'
import { agentLook, agentWord, StateDot, sessionWord } from '../../ui/state-dot.tsx'
import { agentNumber, bytes, counted } from '../../ui/words.ts'
import { ParksIn } from '../session/parks-in.tsx'
import { PaneHead } from '../shell/pane-head.tsx'
import { drain, leaves } from './drain.ts'
import { DrainingSession } from './draining-session.tsx'
import { FleetSize } from './fleet-size.tsx'

function AgentRow({
  agent,
  onDrain,
}: {
  agent: Agent
  onDrain: (how: 'gently' | 'cancel') => void
}) {
  const session = useSession(agent.session ?? undefined)
  const own = agentWord(agent)
  return (
    <tr data-agent={agent.id}>
      <td>{agentNumber(agent.id)}</td>
      <td>
        <span className="table-state">
          <StateDot look={agentLook(agent)} />
          {own.word}
        </span>
        {agent.state === 'draining' ? (
          <div className="dim">takes no more sessions; ends when it is free</div>
        ) : null}
        {own.why === '' ? null : <div className="dim">{showControls(own.why)}</div>}
      </td>
      <td>
        {session === undefined ? (
          <span className="faint">none</span>
        ) : (
          <button
            type="button"
            className="btn-link"
            onClick={() => openPage({ page: 'session', session: session.id })}
          >
            {session.ticket} · {sessionWord(session)}
          </button>
        )}
        {session?.parkAt == null ? null : (
          <div className="dim">
            <ParksIn at={session.parkAt} />
          </div>
        )}
      </td>
      <td className="num">{agent.memoryBytes === null ? '–' : bytes(agent.memoryBytes)}</td>
      <td className="num">
        {agent.runtimeMemoryBytes === null || agent.runtimeMemoryBytes === 0
          ? '–'
          : bytes(agent.runtimeMemoryBytes)}
      </td>
      <td className="num">
        {agent.cpuPercent === null ? '–' : `${Math.round(agent.cpuPercent)} %`}
      </td>
      <td className="num" title={`runtime: ${agent.runtimePids.join(', ') || 'none'}`}>
        {agent.pid ?? '–'}
      </td>
      <td className="num">{agent.restarts}</td>
      <td>
        <button
          type="button"
          className="btn-link"
          aria-label={
            leaves(agent)
              ? `Let agent ${agentNumber(agent.id)} take sessions again`
              : `Drain agent ${agentNumber(agent.id)}`
          }
          onClick={() => onDrain(leaves(agent) ? 'cancel' : 'gently')}
        >
          {leaves(agent) ? 'take back' : 'drain'}
        </button>
      </td>
    </tr>
  )
}

/** What is being parked because its agent is drained. */
function Draining({ agents }: { agents: readonly Agent[] }) {
  const sessions = useRecords((records) => records.sessions)
  const held = agents.flatMap(({ state, session }) =>
    state === 'draining' && session !== null ? (sessions.get(session) ?? []) : [],
  )
  if (held.length === 0) return null
  return (
    <section aria-label="Sessions that are drained">
      <h3>
        Draining <span className="faint">{held.length}</span>
      </h3>
      <ul className="quit-list">
        {held.map((session) => (
          <DrainingSession key={session.id} session={session} graceEnds={null} />
        ))}
      </ul>
    </section>
  )
}

/** Parks all that runs, so that the machine can be left alone. */
function DrainAll({
  agents,
  onDrain,
}: {
  agents: readonly Agent[]
  onDrain: (how: 'gently' | 'now' | 'cancel') => void
}) {
  const away = agents.filter(leaves)
  return (
    <div className="page-acts">
      {away.length === agents.length ? null : (
        <button
          type="button"
          className="btn"
          title="Parks every session, a working one when its turn ends or its grace is over"
          onClick={() => onDrain('gently')}
        >
          Drain all
        </button>
      )}
      {away.some(({ session }) => session !== null) ? (
        <button type="button" className="btn" onClick={() => onDrain('now')}>
          Interrupt now
        </button>
      ) : null}
      {away.length === 0 ? null : (
        <button type="button" className="btn" onClick={() => onDrain('cancel')}>
          Take all back
        </button>
      )}
    </div>
  )
}

/** The agents of this machine: what each does and what it takes. */
export function FleetPage({ pane }: { pane: number }) {
  const client = useClient()
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const say = (how: 'gently' | 'now' | 'cancel', agent?: Agent['id']) =>
    void drain(client, how, agent).then(setRefusal)
  const agents = useRecords((records) => records.agents)
  const queued = useRecords((records) => {
    let count = 0
    for (const { state } of records.sketches.values()) if (state === 'queued') count += 1
    return count
  })
  const sorted = [...agents.values()].sort(
    (a, b) => Number(agentNumber(a.id)) - Number(agentNumber(b.id)),
  )
  const states = ['starting', 'drained', ...AgentState.options]
    .map((word) => [sorted.filter((agent) => agentWord(agent).word === word).length, word] as const)
    .filter(([count]) => count > 0)
    .map(([count, state]) => `${count} ${state}`)
    .join(' · ')
  return (
    <>
      <PaneHead pane={pane} title="Fleet" />
      <div className="page">
        <p className="dim">
          {states} · {counted(queued, 'session')} waiting for an agent
        </p>
        <FleetSize />
        <DrainAll agents={sorted} onDrain={say} />
        {refusal === null ? null : (
          <RefusalNote refusal={refusal} onClose={() => setRefusal(null)} />
        )}
        <div className="table-scroll">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col">State</th>
                <th scope="col">Session</th>
                <th scope="col" className="num">
                  Memory
                </th>
                <th scope="col" className="num">
                  Runtime’s memory
                </th>
                <th scope="col" className="num">
                  CPU
                </th>
                <th scope="col" className="num">
                  Process
                </th>
                <th scope="col" className="num">
                  Restarts
                </th>
                <th scope="col">
                  <span className="unseen">Drain</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {sorted.map((agent) => (
                <AgentRow key={agent.id} agent={agent} onDrain={(how) => say(how, agent.id)} />
              ))}
            </tbody>
          </table>
        </div>
        <Draining agents={sorted} />
      </div>
    </>
  )
}
