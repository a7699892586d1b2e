import type { AskQuestion, CompleteStage, RecordAssumption } from '../../src-shared/mcp-tools.ts'
import type { Question } from '../../src-shared/questions.ts'
import { encodeScript, type Step } from '../model/script.ts'
import type { BalletClient } from './ballet-client.ts'
import { WAIT_LIMIT_MS, waitFor } from './wait-for.ts'
import { showEvents, timelineOf } from './watch.ts'

/** One of Ballet's tools, as Claude Code names it. */
export const balletTool = (name: string) => `mcp__ballet__${name}`

type Partly<T> = { readonly [K in keyof T]?: T[K] | undefined }

/** One answer of the model that asks all of these, each in a call of its own. */
export function ask(...questions: Partly<AskQuestion>[]): Step {
  return {
    tools: questions.map((question) => ({ name: balletTool('ask_question'), input: question })),
  }
}

export function assume(...assumptions: RecordAssumption[]): Step {
  return {
    tools: assumptions.map((input) => ({ name: balletTool('record_assumption'), input })),
  }
}

export function complete(outcome: CompleteStage['outcome'], summary: string): Step {
  return { tool: balletTool('complete_stage'), input: { outcome, summary } }
}

/** What the planner's model gives back. */
export type PlannerSays =
  | { answer: string; citations: { source: string; place: string; quote: string }[] }
  | { undecided: string }

/** The end of a question's text that makes the planner's model take these steps and then say this. */
export function plannerSays(says: PlannerSays | string, ...before: Step[]): string {
  const text = typeof says === 'string' ? says : JSON.stringify(says)
  return ` ${encodeScript([...before, { text }], 'planner')}`
}

/** The questions of a session, once there are so many in this state and with whom they are to be. */
export function waitForQuestions(
  client: BalletClient,
  session: string,
  count: number,
  fits: (question: Question) => boolean = ({ state, heldBy }) =>
    state === 'open' && heldBy === 'person',
  timeoutMs = WAIT_LIMIT_MS,
): Promise<Question[]> {
  let seen = ''
  return waitFor(
    `${count} questions`,
    async () => {
      seen = showEvents(await timelineOf(client, session))
      const questions = (await client.questions.list({ session })).filter(fits)
      return questions.length >= count && questions
    },
    { timeoutMs, everyMs: 50, state: () => seen },
  )
}
