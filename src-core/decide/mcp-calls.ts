import type { AgentItem } from '../../src-shared/agent-wire.ts'
import type { LeaseId } from '../../src-shared/ids.ts'
import { assertNever } from '../../src-shared/refusal.ts'
import type { Ids } from '../ports.ts'
import { recordAssumption } from './assumptions.ts'
import { askQuestion, type ToolAnswer } from './questions.ts'
import type { SessionDraft } from './session-draft.ts'
import { completeStage } from './stage-completion.ts'

export type McpCallItem = Extract<AgentItem, { type: 'mcp.call' }>

export type McpFacts = {
  lease: LeaseId
  /** The lease is the session's present one: what it reports is how the session stands. */
  isCurrent: boolean
  /** Why the planner does not try what is asked; null where it does. */
  plannerOff: string | null
}

/** The runtime called one of Ballet's tools; what came of it is stored in the same change as the answer is told. */
export function takeMcpCall(
  draft: SessionDraft,
  item: McpCallItem,
  facts: McpFacts,
  ids: Ids,
): void {
  const answer = carryOut(draft, item, facts, ids)
  draft.tell({ type: 'mcp.answer', lease: facts.lease, call: item.call, ...answer })
}

function carryOut(
  draft: SessionDraft,
  { made, at, turn: told }: McpCallItem,
  { isCurrent, plannerOff }: McpFacts,
  ids: Ids,
): ToolAnswer {
  const { turnStartedAt, turn: last } = draft.session
  const turn = told ?? (turnStartedAt === null || !isCurrent ? null : last)
  switch (made.tool) {
    case 'ask_question':
      return askQuestion(draft, { id: made.question, asked: made.asked, at, turn, plannerOff }, ids)
    case 'record_assumption':
      recordAssumption(draft, { id: made.assumption, given: made.recorded, at, turn })
      return done('Recorded; a person may look it over later. Go on.')
    case 'report_progress': {
      const { progress } = made
      if (isCurrent) draft.set({ progress })
      draft.event({ kind: 'progress', ...progress, ...(turn === null ? {} : { turn }) }, at)
      return done('Noted. Go on.')
    }
    case 'complete_stage':
      return done(completeStage(draft, made.completed, { at, turn, isCurrent }))
    default:
      return assertNever(made)
  }
}

const done = (text: string): ToolAnswer => ({ isError: false, text })
