import type { Usage } from '../../../src-shared/records.ts'
import { NO_USAGE } from '../no-usage.ts'
import type { ModelUsage, ResultLine, TokenUsage } from './lines.ts'

export type Spent = { usage: Usage; costUsd: number }

/** Turns the runtime's running totals into what each turn spent, and adds those up. */
export class Spending {
  #total: Spent = { usage: NO_USAGE, costUsd: 0 }
  /** The runtime's total at the last result; 2.1.197 tells nothing else. */
  #runtimeTotal: Spent = { usage: NO_USAGE, costUsd: 0 }
  #unfinished: Usage = NO_USAGE
  #contextTokens: number | null = null
  #contextWindow: number | null = null
  #model: string | null = null

  /** Everything since the process began. */
  get total(): Spent {
    return this.#total
  }

  get context(): { contextTokens?: number; contextWindow?: number } {
    return {
      ...(this.#contextTokens === null ? {} : { contextTokens: this.#contextTokens }),
      ...(this.#contextWindow === null ? {} : { contextWindow: this.#contextWindow }),
    }
  }

  /** The model of the main conversation answers. */
  answered(model: string | undefined): void {
    if (model !== undefined && !model.startsWith('<')) this.#model = model
  }

  /** The final usage of one answer of the main conversation. */
  answerEnded(usage: TokenUsage): void {
    const one = usageOf(usage)
    this.#contextTokens =
      one.inputTokens + one.cacheReadTokens + one.cacheWriteTokens + one.outputTokens
    this.#unfinished = add(this.#unfinished, one)
  }

  /** A turn ended: what it spent, subagents included. */
  turnEnded(result: ResultLine): Spent {
    const runtimeTotal = sum(result.modelUsage ?? {})
    const window = this.#windowOf(result.modelUsage ?? {})
    if (window !== null) this.#contextWindow = window
    const spent =
      result.model_usage_since_last_result === undefined ||
      result.model_usage_since_last_result === null
        ? subtract(runtimeTotal, this.#runtimeTotal)
        : sum(result.model_usage_since_last_result)
    this.#runtimeTotal = runtimeTotal
    return this.#record(spent)
  }

  /** A turn was cut without a result: its tokens as far as they are known, its cost unknown. */
  turnCut(): Spent {
    return this.#record({ usage: this.#unfinished, costUsd: 0 })
  }

  #record(spent: Spent): Spent {
    this.#unfinished = NO_USAGE
    this.#total = {
      usage: add(this.#total.usage, spent.usage),
      costUsd: this.#total.costUsd + spent.costUsd,
    }
    return spent
  }

  #windowOf(models: ModelUsage): number | null {
    const own = this.#model === null ? undefined : models[this.#model]?.contextWindow
    if (own !== undefined) return own
    const known = Object.values(models).flatMap((model) => model.contextWindow ?? [])
    return known.length === 0 ? null : Math.max(...known)
  }
}

function usageOf(usage: TokenUsage): Usage {
  return {
    inputTokens: count(usage.input_tokens),
    outputTokens: count(usage.output_tokens),
    cacheReadTokens: count(usage.cache_read_input_tokens),
    cacheWriteTokens: count(usage.cache_creation_input_tokens),
  }
}

function sum(models: ModelUsage): Spent {
  return Object.values(models).reduce<Spent>(
    (total, model) => ({
      usage: add(total.usage, {
        inputTokens: count(model.inputTokens),
        outputTokens: count(model.outputTokens),
        cacheReadTokens: count(model.cacheReadInputTokens),
        cacheWriteTokens: count(model.cacheCreationInputTokens),
      }),
      costUsd: total.costUsd + Math.max(0, model.costUSD ?? 0),
    }),
    { usage: NO_USAGE, costUsd: 0 },
  )
}

function add(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  }
}

function subtract(a: Spent, b: Spent): Spent {
  return {
    usage: {
      inputTokens: Math.max(0, a.usage.inputTokens - b.usage.inputTokens),
      outputTokens: Math.max(0, a.usage.outputTokens - b.usage.outputTokens),
      cacheReadTokens: Math.max(0, a.usage.cacheReadTokens - b.usage.cacheReadTokens),
      cacheWriteTokens: Math.max(0, a.usage.cacheWriteTokens - b.usage.cacheWriteTokens),
    },
    costUsd: Math.max(0, a.costUsd - b.costUsd),
  }
}

function count(value: number | null | undefined): number {
  return value === null || value === undefined || value < 0 ? 0 : Math.round(value)
}
