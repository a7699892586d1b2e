import '../../sync/without-jit.ts'
import { type Agent, AgentState } from '../../../src-shared/records.ts'
import { openPage } from '../../stores/layout.ts'
import { useRecords, useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { agentLook, agentWord, StateDot, sessionWord } from '../../ui/state-dot.tsx'
import { agentNumber, bytes, counted } from '../../ui/words.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { FleetSize } from './fleet-size.tsx'

function AgentRow({ agent }: { agent: Agent }) {
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
        {agent.state === 'draining' ? <div className="dim">ends when it is free</div> : null}
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
    </tr>
  )
}

/** The agents of this machine: what each does and what it takes. */
export function FleetPage({ pane }: { pane: number }) {
  const agents = useRecords((records) => records.agents)
  const queued = useRecords((records) => {
    let count = 0
    for (const { state } of records.sketches.values()) if (state === 'queued') count += 1
    return count
  })
  const sorted = [...agents.values()].sort(
    (a, b) => Number(agentNumber(a.id)) - Number(agentNumber(b.id)),
  )
  const states = ['starting', ...AgentState.options]
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
              </tr>
            </thead>
            <tbody>
              {sorted.map((agent) => (
                <AgentRow key={agent.id} agent={agent} />
              ))}
            </tbody>
          </table>
        </div>
      </div>
    </>
  )
}
