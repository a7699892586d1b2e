import { memo } from 'react'
import type { Agent, Session } from '../../../src-shared/records.ts'
import { useMinutes, useSeconds } from '../../stores/clock.ts'
import { openPage, showDialog } from '../../stores/layout.ts'
import { useRecords, useSession } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import {
  agentLook,
  agentWord,
  type Look,
  StateDot,
  sessionLook,
  sessionWord,
} from '../../ui/state-dot.tsx'
import { age, agentNumber, counted, elapsed, money } from '../../ui/words.ts'
import { ParksIn } from '../session/parks-in.tsx'
import { progressCount } from '../session/progress.tsx'

/** More agents than these are shown by number and ticket, and by number only. */
const WIDE_CHIPS = 4
const TICKET_CHIPS = 8

type ChipSize = 'wide' | 'ticket' | 'number'

function Running({ since }: { since: string }) {
  return <>{elapsed(useSeconds() - Date.parse(since))}</>
}

function Since({ at }: { at: string }) {
  const word = age(useMinutes() - Date.parse(at))
  return word === 'now' ? null : word
}

function Time({ session }: { session: Session }) {
  if (session.parkAt !== null) {
    return (
      <>
        · <ParksIn at={session.parkAt} />
      </>
    )
  }
  if (session.turnStartedAt !== null) return <Running since={session.turnStartedAt} />
  return session.state === 'waiting' ? <Since at={session.stateSince} /> : null
}

/** While it works: how far it is, as the agent reported. */
function reported({ state, progress }: Session): string {
  if (state !== 'working' || progress === null) return ''
  return progressCount(progress) || showControls(progress.summary.slice(0, 60))
}

const AgentChip = memo(function AgentChip({ agent, size }: { agent: Agent; size: ChipSize }) {
  const session = useSession(agent.session ?? undefined)
  const look: Look = session === undefined ? agentLook(agent) : sessionLook(session)
  const drains = agent.state === 'draining' && session !== undefined ? ', drains' : ''
  const own = agentWord(agent)
  const word = session === undefined ? own.word : `${sessionWord(session)}${drains}`
  const progress = session === undefined ? '' : reported(session)
  const deadline = session !== undefined && session.parkAt !== null
  // What parks waits: its time says it.
  const saysAll = deadline && word === 'waiting'
  const summary = progress === '' ? '' : `, ${session?.progress?.summary.slice(0, 300)}`
  return (
    <button
      type="button"
      className="chip"
      title={
        session === undefined
          ? `Agent ${agentNumber(agent.id)}: ${word}${own.why === '' ? '' : `, ${own.why}`}`
          : `Agent ${agentNumber(agent.id)}: ${session.ticket} ${session.title}, ${word}${summary}`
      }
      data-agent={agent.id}
      data-state={agent.state}
      onClick={() =>
        openPage(
          session === undefined ? { page: 'fleet' } : { page: 'session', session: session.id },
        )
      }
    >
      <StateDot look={look} />
      <b>{agentNumber(agent.id)}</b>
      {size === 'number' ? null : (
        <span className="clip">
          {session?.ticket ?? word}
          {size !== 'wide' || session === undefined || saysAll ? null : (
            <span>{` · ${progress === '' ? word : progress}`}</span>
          )}
        </span>
      )}
      {session === undefined || (size !== 'wide' && !deadline) || size === 'number' ? null : (
        <span className="chip-time" data-deadline={deadline} data-size={size}>
          <Time session={session} />
        </span>
      )}
      {size === 'wide' ? null : <span className="unseen">, {word}</span>}
    </button>
  )
})

function Fleet() {
  const agents = useRecords((records) => records.agents)
  const sorted = [...agents.values()].sort(
    (a, b) => Number(agentNumber(a.id)) - Number(agentNumber(b.id)),
  )
  const size =
    sorted.length <= WIDE_CHIPS ? 'wide' : sorted.length <= TICKET_CHIPS ? 'ticket' : 'number'
  return (
    <section className="fleet" aria-label="Fleet">
      {sorted.map((agent) => (
        <AgentChip key={agent.id} agent={agent} size={size} />
      ))}
    </section>
  )
}

function Today() {
  const now = useMinutes()
  const [begun, cost] = useRecords(({ sessions }) => {
    const today = new Date(now).toDateString()
    let count = 0
    let sum = 0
    for (const { createdAt, costUsd } of sessions.values()) {
      if (new Date(createdAt).toDateString() !== today) continue
      count += 1
      sum += costUsd
    }
    return `${counted(count, 'session')}|${money(sum)}`
  }).split('|')
  return (
    <span
      className="chip chip-plain"
      title={`${begun} begun today, and what they have cost so far`}
    >
      <span>
        <span className="wide-only">begun </span>today
        <span className="wide-only">: {begun}</span>
      </span>
      <b>{cost}</b>
    </span>
  )
}

export function TopBar() {
  return (
    <header className="top">
      <h1 className="brand">Ballet</h1>
      <Fleet />
      <Today />
      <button type="button" className="search" onClick={() => showDialog('palette')}>
        <span className="clip">Search or command</span>
        <Key keys="Mod+K" />
      </button>
    </header>
  )
}
