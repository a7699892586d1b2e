import type { Usage } from '../../../src-shared/records.ts'
import { NO_USAGE } from '../no-usage.ts'
import { type Tokens, UsageNews } from './protocol.ts'

/** The tokens of a session's turns. The server counts those of a whole conversation, also from before a resume. */
export class Spending {
  #before: Usage | null = null
  #now: Usage | null = null
  #turnBegan: Usage | null = null
  #context: { contextTokens: number; contextWindow?: number } | null = null

  /** What the server says after each answer of the model. */
  counted(params: unknown): void {
    const news = UsageNews.safeParse(params).data?.tokenUsage
    if (news === undefined) return
    const { total, last, modelContextWindow: contextWindow } = news
    const sum = usageOf(total)
    this.#before ??= minus(sum, usageOf(last))
    this.#turnBegan ??= this.#now ?? this.#before
    this.#now = sum
    this.#context = {
      contextTokens: last.totalTokens,
      ...(typeof contextWindow === 'number' ? { contextWindow } : {}),
    }
  }

  /** Of the turn that ended now. */
  turnEnded(): Usage {
    const usage =
      this.#now === null || this.#turnBegan === null ? NO_USAGE : minus(this.#now, this.#turnBegan)
    this.#turnBegan = null
    return usage
  }

  /** Of the session under this runtime. */
  get total(): { usage: Usage; contextTokens?: number; contextWindow?: number } {
    const usage =
      this.#now === null || this.#before === null ? NO_USAGE : minus(this.#now, this.#before)
    return { usage, ...this.#context }
  }
}

function usageOf(tokens: Tokens): Usage {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens } = tokens
  return {
    inputTokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens),
    outputTokens,
    cacheReadTokens: cachedInputTokens,
    cacheWriteTokens: cacheWriteInputTokens,
  }
}

function minus(a: Usage, b: Usage): Usage {
  const left = (key: keyof Usage) => Math.max(0, a[key] - b[key])
  return {
    inputTokens: left('inputTokens'),
    outputTokens: left('outputTokens'),
    cacheReadTokens: left('cacheReadTokens'),
    cacheWriteTokens: left('cacheWriteTokens'),
  }
}
