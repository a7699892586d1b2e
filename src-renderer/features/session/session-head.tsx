import { Menu } from '@base-ui/react/menu'
import type { Session } from '../../../src-shared/records.ts'
import { useMinutes, useSeconds } from '../../stores/clock.ts'
import {
  focusPane,
  openBeside,
  openPage,
  showDialog,
  toggleDetails,
  useLayout,
} from '../../stores/layout.ts'
import { runtimeTitle } from '../../stores/runtime-reports.ts'
import { tell } from '../../stores/told.ts'
import { copyText } from '../../sync/bridge.ts'
import { useClient } from '../../sync/client.ts'
import type { SessionTimeline } from '../../sync/timeline.ts'
import { keyText } from '../../ui/key.tsx'
import { StateDot, StateWord, sessionBadges, sessionLook } from '../../ui/state-dot.tsx'
import { age, elapsed } from '../../ui/words.ts'
import { PaneHead } from '../shell/pane-head.tsx'
import { timelineMarkdown } from '../timeline/as-markdown.ts'
import { keepSession, parkSession, resumeSession } from './actions.ts'
import { useCost } from './cost.ts'
import { type Confirm, whyNot, whyNotContinue, whyNotExport } from './ending.ts'
import { canResume, whyNotPark } from './parking.ts'
import { ParkButtons, ParksIn } from './parks-in.tsx'

function TurnTime({ since }: { since: string }) {
  return <span>{elapsed(useSeconds() - Date.parse(since))}</span>
}

function StateAge({ since }: { since: string }) {
  const word = age(useMinutes() - Date.parse(since))
  return word === 'now' ? null : <span>{word}</span>
}

function Time({ session }: { session: Session }) {
  if (session.parkAt !== null) return <ParksIn at={session.parkAt} />
  if (session.turnStartedAt !== null) return <TurnTime since={session.turnStartedAt} />
  return session.state === 'waiting' ? <StateAge since={session.updatedAt} /> : null
}

function DetailsButton({ pane }: { pane: number }) {
  return (
    <button
      type="button"
      className="btn-quiet"
      aria-label="Show or hide the details"
      title={`Details (${keyText('Mod+I')})`}
      onClick={() => {
        focusPane(pane)
        toggleDetails()
      }}
    >
      <svg
        width="14"
        height="14"
        viewBox="0 0 14 14"
        aria-hidden="true"
        fill="none"
        stroke="currentColor"
      >
        <rect x="1.5" y="2.5" width="11" height="9" rx="1.5" />
        <path d="M9 2.5v9" />
      </svg>
    </button>
  )
}

const ends = [
  {
    what: 'stop',
    word: 'Stop',
    keys: 'Mod+Shift+S',
    does: 'Pushes a snapshot, frees the agent, and keeps conversation and workspace',
  },
  {
    what: 'finish',
    word: 'Finish',
    keys: 'Mod+Shift+D',
    does: 'Commits and pushes the work, removes the workspace; the ticket is Done',
  },
] as const

/** Stop and finish, each with what it does; they say why where they cannot be used now. */
function EndButtons({
  session,
  onConfirm,
}: {
  session: Session
  onConfirm: (what: Confirm) => void
}) {
  return ends.map(({ what, word, keys, does }) => {
    const problem = whyNot(what, session.state)
    return (
      <button
        key={what}
        type="button"
        className="btn-quiet pane-end"
        aria-disabled={problem !== null}
        title={`${problem ?? does} (${keyText(keys)})`}
        onClick={() => {
          if (problem === null) onConfirm(what)
        }}
      >
        {word}
      </button>
    )
  })
}

/** In the menu too, where the pane is too narrow for buttons. */
function ParkItems({ session }: { session: Session }) {
  const client = useClient()
  const run = async (act: typeof parkSession) => {
    const outcome = await act(client, session.id)
    if (!outcome.ok) tell(outcome.refusal)
  }
  return (
    <>
      <Menu.Item
        className="menu-item"
        disabled={session.parkAt === null}
        onClick={() => void run(keepSession)}
      >
        Keep online 1 h
      </Menu.Item>
      <Menu.Item
        className="menu-item"
        disabled={whyNotPark(session) !== null}
        onClick={() => void run(parkSession)}
      >
        Park now
      </Menu.Item>
      <Menu.Item
        className="menu-item"
        disabled={!canResume(session.state)}
        onClick={() => void run(resumeSession)}
      >
        Resume
      </Menu.Item>
    </>
  )
}

export function SessionHead({
  session,
  timeline,
  pane,
  onConfirm,
  onContinue,
}: {
  session: Session
  timeline: SessionTimeline
  pane: number
  onConfirm: (what: Confirm) => void
  onContinue: () => void
}) {
  const split = useLayout((layout) => layout.panes.length > 1)
  const cost = useCost(session)
  return (
    <PaneHead
      pane={pane}
      mark={<StateDot look={sessionLook(session)} />}
      title={`${session.ticket} ${session.title}`}
      after={
        <>
          {sessionBadges(session).map(({ look, word }) => (
            <StateWord key={word} look={look}>
              {word}
            </StateWord>
          ))}
          <span className="pane-meta pane-time clip">
            <Time session={session} />
          </span>
          {session.parkAt === null ? null : <ParkButtons session={session} />}
        </>
      }
      meta={`${runtimeTitle(session.runtime)} · ${cost}`}
      menu={
        <>
          <EndButtons session={session} onConfirm={onConfirm} />
          <DetailsButton pane={pane} />
          <Menu.Root>
            <Menu.Trigger className="btn-quiet" aria-label={`More for ${session.ticket}`}>
              ⋯
            </Menu.Trigger>
            <Menu.Portal>
              <Menu.Positioner className="menu-place" align="end" sideOffset={4}>
                <Menu.Popup className="menu">
                  <Menu.Item
                    className="menu-item"
                    onClick={() => openPage({ page: 'ticket', ticket: session.ticketId })}
                  >
                    Ticket page
                  </Menu.Item>
                  {split ? null : (
                    <Menu.Item
                      className="menu-item"
                      onClick={() => openBeside({ page: 'ticket', ticket: session.ticketId })}
                    >
                      Ticket page beside
                    </Menu.Item>
                  )}
                  <Menu.Item
                    className="menu-item"
                    onClick={() => void copyText(timelineMarkdown(timeline.store.getState().rows))}
                  >
                    Copy timeline as Markdown
                  </Menu.Item>
                  <Menu.Separator className="menu-line" />
                  <ParkItems session={session} />
                  <Menu.Separator className="menu-line" />
                  <Menu.Item
                    className="menu-item"
                    disabled={whyNotContinue(session.state) !== null}
                    onClick={onContinue}
                  >
                    Continue with…
                  </Menu.Item>
                  <Menu.Item
                    className="menu-item"
                    disabled={whyNotExport(session.state) !== null}
                    onClick={() => {
                      focusPane(pane)
                      showDialog('export')
                    }}
                  >
                    Export…
                  </Menu.Item>
                  <Menu.Item
                    className="menu-item"
                    disabled={whyNot('stop', session.state) !== null}
                    onClick={() => onConfirm('stop')}
                  >
                    Stop session…
                  </Menu.Item>
                  <Menu.Item
                    className="menu-item"
                    disabled={whyNot('finish', session.state) !== null}
                    onClick={() => onConfirm('finish')}
                  >
                    Finish session…
                  </Menu.Item>
                </Menu.Popup>
              </Menu.Positioner>
            </Menu.Portal>
          </Menu.Root>
        </>
      }
    />
  )
}
