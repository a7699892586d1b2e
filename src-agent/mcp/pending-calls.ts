import type { McpCall } from '../../src-shared/mcp-tools.ts'
import type { Clock } from '../port/clock.ts'
import { within } from '../port/within.ts'
import type { ToolAnswer } from './protocol.ts'

/** How long Core may take to say what becomes of a call. */
const ANSWER_LIMIT_MS = 10_000

/** The calls that Core has not answered yet. */
export class PendingCalls {
  readonly #clock: Clock
  readonly #open = new Map<string, (answer: ToolAnswer) => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits for Core's word on a call that was told under this name. */
  async wait(call: string, tool: McpCall['tool']): Promise<ToolAnswer> {
    const answered = new Promise<ToolAnswer>((resolve) => this.#open.set(call, resolve))
    const answer = await within(this.#clock, ANSWER_LIMIT_MS, answered)
    this.#open.delete(call)
    return answer === 'too-late' ? { isError: true, text: notConfirmed(tool) } : answer
  }

  answer(call: string, answer: ToolAnswer): void {
    this.#open.get(call)?.(answer)
  }

  /** Answers everything that is open, since nobody else will. */
  close(): void {
    const text = 'The session ends. What you called is on its way to Ballet; end your turn now.'
    for (const resolve of this.#open.values()) resolve({ isError: true, text })
  }
}

function notConfirmed(tool: McpCall['tool']): string {
  const head = `Ballet has this, but did not confirm it within ${ANSWER_LIMIT_MS / 1_000} s.`
  switch (tool) {
    case 'ask_question':
      return `${head} Do not ask again: end your turn now; the answer arrives as the next message.`
    case 'complete_stage':
      return `${head} Do not call again: end your turn now.`
    case 'record_assumption':
    case 'report_progress':
      return `${head} Do not call again: go on with your work.`
  }
}
