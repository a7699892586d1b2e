import type { z } from 'zod'
import { AssumptionId, QuestionId } from '../../src-shared/ids.ts'
import type { AskQuestion, CompleteStage, McpCall } from '../../src-shared/mcp-tools.ts'
import type { FakeAgent } from './fake-agent.ts'
import { startTestCore, type TestCore, type TestCoreOptions } from './test-core.ts'
import { until } from './until.ts'
import { working } from './walks.ts'

let calls = 0

const idOf = (kind: string, n: number) =>
  `01930000-0000-7000-${kind}-${String(n).padStart(12, '0')}`

export const questionId = (n: number) => QuestionId.parse(idOf('8a00', n))
export const assumptionId = (n: number) => AssumptionId.parse(idOf('8b00', n))

/** The runtime calls one of Ballet's tools; gives what Core answers it with. */
export async function callTool(
  agent: FakeAgent,
  made: z.input<typeof McpCall>,
  turn?: number,
): Promise<{ isError: boolean; text: string }> {
  calls += 1
  const call = `call-${calls}`
  agent.item({ type: 'mcp.call', call, ...(turn === undefined ? {} : { turn }), made } as never)
  return until('the answer to a call', () =>
    agent.heard('mcp.answer').find((answer) => answer.call === call),
  )
}

/** Asks as question number `n` in turn 1, unless said otherwise. */
export function askTool(
  agent: FakeAgent,
  n: number,
  asked: Partial<AskQuestion> = {},
  turn: number | undefined = 1,
) {
  const question = `Which colour has button ${n}?`
  return callTool(
    agent,
    { tool: 'ask_question', question: questionId(n), asked: { question, ...asked } },
    turn,
  )
}

export function completeTool(agent: FakeAgent, completed: CompleteStage, turn = 1) {
  return callTool(agent, { tool: 'complete_stage', completed }, turn)
}

/** A Core whose planner is switched off, so that every question goes to the person at once. */
export async function startWithoutPlanner(options: TestCoreOptions = {}): Promise<TestCore> {
  const core = await startTestCore(options)
  await core.client.settings.edit({ planner: { enabled: false } })
  return core
}

/** A session after a turn in which it asked so many questions: SHOP-1-Q1, SHOP-1-Q2, … */
export async function asked(core: TestCore, count: number) {
  const { ticket, agent } = await working(core)
  for (let n = 1; n <= count; n += 1) await askTool(agent, n)
  agent.endTurn(1)
  await until('the turn to end', async () => {
    const session = await core.client.sessions.show({ ref: ticket.key })
    return session.state === 'waiting'
  })
  return { ticket, agent }
}
