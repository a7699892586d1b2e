import type { RuntimeCapabilities, RuntimeName } from '../../src-shared/runtimes.ts'
import type { Reader } from '../commit/committer.ts'
import type { ItemsState, RunningTurn } from '../decide/agent-items.ts'
import { losesConversation } from '../decide/item-end.ts'
import type { Items } from '../decide/plain-items.ts'
import type { SessionFacts } from '../decide/session-draft.ts'
import type { LiveBlocks } from '../following/live-blocks.ts'
import { plannerOff } from '../planner/planner-off.ts'
import type { CorePorts } from '../ports.ts'
import { anewText } from './anew-text.ts'

/** What deciding about items needs besides the rows of their session: only what those items ask for is read. */
export async function itemsFacts(
  { storage, settings }: Pick<CorePorts, 'storage' | 'settings'>,
  read: Reader,
  {
    facts,
    items,
    running,
    live,
    capabilities,
  }: {
    facts: SessionFacts
    items: Items['items']
    running: RunningTurn | null
    live: LiveBlocks
    capabilities(runtime: RuntimeName): RuntimeCapabilities | undefined
  },
): Promise<Pick<ItemsState, 'plannerOff' | 'live' | 'turnEvents' | 'anew'>> {
  const { session } = facts
  const settles = items.some(
    (item) =>
      item.type === 'ready' ||
      item.type === 'parked' ||
      item.type === 'ended' ||
      item.type === 'undelivered' ||
      (running === null && item.type === 'event' && item.event.kind === 'turn.ended'),
  )
  const asks = items.some((item) => item.type === 'mcp.call' && item.made.tool === 'ask_question')
  const loses = items.some((item) => losesConversation(item, session))
  const changes = session.continueWith !== null && items.some(({ type }) => type === 'ended')
  const project = asks ? await read.row('project', session.projectId) : undefined
  const planner = asks ? capabilities(settings.current.planner.runtime) : undefined
  return {
    plannerOff: plannerOff(project, settings.current, planner),
    live: settles ? live.of(session.id) : [],
    turnEvents: settles ? await storage.turn(session.id, session.turn) : [],
    anew: loses || changes ? await anewText(storage, facts, changes ? 'continued' : 'lost') : null,
  }
}
