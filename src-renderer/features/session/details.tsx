import type { ReactNode } from 'react'
import { useStore } from 'zustand'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { Session } from '../../../src-shared/records.ts'
import { useMinutes } from '../../stores/clock.ts'
import { showInInbox } from '../../stores/inbox-view.ts'
import { openPage } from '../../stores/layout.ts'
import { runtimeTitle } from '../../stores/runtime-reports.ts'
import { useRecords, useSession, useTicket } from '../../sync/records.ts'
import type { Row, TodoRow } from '../../sync/rows.ts'
import { useTimelines } from '../../sync/timelines-context.ts'
import { showControls } from '../../text/controls.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { InlineCode } from '../../ui/inline-code.tsx'
import { StateDot, sessionLook, sessionWord } from '../../ui/state-dot.tsx'
import { age, agentNumber, fullTime, priorityWord, tokens } from '../../ui/words.ts'
import { Delta } from '../timeline/diff-view.tsx'
import { useCost } from './cost.ts'
import { ProgressLine } from './progress.tsx'
import { WindowField } from './window-field.tsx'

function Section({
  title,
  aside,
  children,
}: {
  title: string
  aside?: ReactNode
  children: ReactNode
}) {
  return (
    <section className="det">
      <h3>
        {title} {aside === undefined ? null : <span className="faint">{aside}</span>}
      </h3>
      {children}
    </section>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="det-fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Age({ since }: { since: string }) {
  const word = age(useMinutes() - Date.parse(since))
  return <span title={fullTime(since)}>{word === 'now' ? 'just now' : `${word} ago`}</span>
}

function latestTodo(rows: readonly Row[]): TodoRow | undefined {
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at]
    if (row?.kind === 'todo') return row
  }
  return undefined
}

/** The files that this session changed, as far as its timeline is loaded here. */
function changedFiles(rows: readonly Row[]): Map<string, { added: number; removed: number }> {
  const files = new Map<string, { added: number; removed: number }>()
  for (const row of rows) {
    if (row.kind !== 'tool') continue
    for (const { path, added, removed } of row.result?.diff ?? []) {
      const known = files.get(path)
      files.set(path, {
        added: (known?.added ?? 0) + added,
        removed: (known?.removed ?? 0) + removed,
      })
    }
  }
  return files
}

function Todo({ session }: { session: SessionId }) {
  const timeline = useTimelines().open(session)
  const todo = useStore(timeline.store, (view) => latestTodo(view.rows))
  if (todo === undefined || todo.items.length === 0) return null
  const done = todo.items.filter((item) => item.status === 'done').length
  return (
    <Section title="Todo" aside={`${done} of ${todo.items.length}`}>
      <ul className="det-todo tl-todo">
        {todo.items.slice(0, 12).map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a todo list names its items by their place
          <li key={at} data-status={item.status}>
            <span className="tl-todo-mark" aria-hidden="true" />
            <span className="clip" title={item.text.slice(0, 500)}>
              <span className="unseen">{item.status}: </span>
              {showControls(item.text)}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const SHOWN_FILES = 12

function Changes({ session }: { session: SessionId }) {
  const timeline = useTimelines().open(session)
  const rows = useStore(timeline.store, (view) => view.rows)
  const files = changedFiles(rows)
  if (files.size === 0) return null
  return (
    <Section title="Edited" aside={`${files.size} ${files.size === 1 ? 'file' : 'files'}`}>
      <ul className="det-files">
        {[...files].slice(0, SHOWN_FILES).map(([path, { added, removed }]) => (
          <li key={path}>
            <code className="clip-start" title={path}>
              <bdi>{showControls(path)}</bdi>
            </code>
            <Delta added={added} removed={removed} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Context({ session }: { session: Session }) {
  const { contextTokens, contextWindow, usage } = session
  const cost = useCost(session)
  if (contextTokens === null && usage.inputTokens + usage.outputTokens === 0) return null
  const share =
    contextTokens === null || contextWindow === null || contextWindow === 0
      ? null
      : Math.min(1, contextTokens / contextWindow)
  return (
    <Section title="Context and cost" aside={cost}>
      {contextTokens === null ? null : (
        <p>
          {tokens(contextTokens)}
          {contextWindow === null ? '' : ` of ${tokens(contextWindow)}`} tokens
          {share === null ? '' : ` · ${Math.round(share * 100)} %`}
        </p>
      )}
      {share === null ? null : (
        <div className="det-meter" role="presentation">
          <i style={{ width: `${Math.max(1, share * 100)}%` }} />
        </div>
      )}
      <dl>
        <Fact name="in">{tokens(usage.inputTokens)}</Fact>
        <Fact name="out">{tokens(usage.outputTokens)}</Fact>
        <Fact name="cache read">{tokens(usage.cacheReadTokens)}</Fact>
        <Fact name="cache written">{tokens(usage.cacheWriteTokens)}</Fact>
      </dl>
    </Section>
  )
}

/** What the agent decided itself and nobody looked over yet. */
function Assumptions({ session }: { session: SessionId }) {
  const all = useRecords((records) => records.assumptions)
  const open = [...all.values()].filter((assumption) => assumption.session === session)
  if (open.length === 0) return null
  return (
    <Section title="Assumptions" aside={`${open.length} to look over`}>
      <ul className="det-assumed">
        {open.map(({ id, assumption }) => (
          <li key={id}>
            <InlineCode text={assumption.slice(0, 300)} />
          </li>
        ))}
      </ul>
      <p>
        <button
          type="button"
          className="btn-link"
          onClick={() => {
            showInInbox({
              shows: 'open',
              kind: 'assumption',
              project: null,
              current: open[0]?.id ?? null,
            })
            openPage({ page: 'inbox' })
          }}
        >
          Look them over
        </button>
      </p>
    </Section>
  )
}

function SessionDetails({ session }: { session: Session }) {
  const ticket = useTicket(session.ticketId)
  return (
    <>
      <Section title={`${session.ticket} ${session.title}`}>
        <p>
          {[ticket?.status, session.stage, ticket && `priority ${priorityWord(ticket.priority)}`]
            .filter(Boolean)
            .join(' · ')}
        </p>
        <p>
          <button
            type="button"
            className="btn-link"
            onClick={() => openPage({ page: 'ticket', ticket: session.ticketId })}
          >
            Ticket page
          </button>
        </p>
      </Section>
      <Section title="Session">
        <p className="det-state">
          <StateDot look={sessionLook(session)} />
          <span>
            {sessionWord(session)}
            {session.reason === '' ? '' : ` · ${showControls(session.reason)}`}
          </span>
        </p>
        {session.hint === '' ? null : (
          <p>
            <InlineCode text={session.hint} />
          </p>
        )}
        <dl>
          <Fact name="turn">{session.turn === 0 ? 'none yet' : session.turn}</Fact>
          <Fact name="agent">{session.agent === null ? 'none' : agentNumber(session.agent)}</Fact>
          <Fact name="runtime">
            {runtimeTitle(session.runtime)} {session.runtimeVersion ?? ''}
          </Fact>
          {session.model === null ? null : <Fact name="model">{session.model}</Fact>}
          <Fact name="permission">{session.permission}</Fact>
          <Fact name="online window">
            <WindowField session={session} />
          </Fact>
          <Fact name="begun">
            <Age since={session.createdAt} />
          </Fact>
        </dl>
      </Section>
      {session.progress === null ? null : (
        <Section title="Progress">
          <ProgressLine progress={session.progress} />
        </Section>
      )}
      <Assumptions session={session.id} />
      <Todo session={session.id} />
      <Changes session={session.id} />
      <Context session={session} />
      <Section title="Branch">
        <p className="det-copy">
          <code className="clip" title={session.branch}>
            {session.branch}
          </code>
          <CopyButton text={session.branch} label="Copy the branch's name" />
        </p>
      </Section>
      {session.workspace === null ? null : (
        <Section title="Workspace">
          <p className="det-copy">
            <code className="clip-start" title={session.workspace}>
              <bdi>{session.workspace}</bdi>
            </code>
            <CopyButton text={session.workspace} label="Copy the workspace's path" />
          </p>
        </Section>
      )}
    </>
  )
}

/** What is worth knowing of the session in the focused pane. */
export function Details({ id }: { id: string }) {
  const session = useSession(id)
  return (
    <aside className="details" aria-label="Details">
      {session === undefined ? null : <SessionDetails session={session} />}
    </aside>
  )
}
