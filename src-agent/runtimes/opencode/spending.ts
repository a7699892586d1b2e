import type { Usage } from '../../../src-shared/records.ts'
import { NO_USAGE } from '../no-usage.ts'
import type { MessageInfo, Tokens } from './wire.ts'

export type Spent = { usage: Usage; costUsd: number }

/** Adds up what the answers of the model cost: each tells its own, those of subagents too. */
export class Spending {
  #total: Spent = { usage: NO_USAGE, costUsd: 0 }
  readonly #turn = new Map<string, Spent>()
  #contextTokens: number | null = null
  #model: string | null = null
  readonly #windows = new Map<string, number>()

  /** Everything since the process began. */
  get total(): Spent {
    return this.#total
  }

  get context(): { contextTokens?: number; contextWindow?: number } {
    const window = this.#model === null ? undefined : this.#windows.get(this.#model)
    return {
      ...(this.#contextTokens === null ? {} : { contextTokens: this.#contextTokens }),
      ...(window === undefined ? {} : { contextWindow: window }),
    }
  }

  /** How many tokens the models of a provider can hold, by `provider/model`. */
  know(windows: ReadonlyMap<string, number>): void {
    for (const [model, window] of windows) this.#windows.set(model, window)
  }

  /** An answer of the running turn, which comes again whenever it changes. */
  answer(info: MessageInfo, isMain: boolean): void {
    const usage = info.tokens === undefined ? NO_USAGE : usageOf(info.tokens)
    this.#turn.set(info.id, { usage, costUsd: Math.max(0, info.cost ?? 0) })
    if (!isMain) return
    if (info.providerID !== undefined && info.modelID !== undefined) {
      this.#model = `${info.providerID}/${info.modelID}`
    }
    const context = Object.values(usage).reduce((sum, count) => sum + count, 0)
    if (context > 0) this.#contextTokens = context
  }

  turnEnded(): Spent {
    const spent = [...this.#turn.values()].reduce(add, { usage: NO_USAGE, costUsd: 0 })
    this.#turn.clear()
    this.#total = add(this.#total, spent)
    return spent
  }
}

function usageOf({ input, output, reasoning, cache }: Tokens): Usage {
  return {
    inputTokens: count(input),
    outputTokens: count(output + reasoning),
    cacheReadTokens: count(cache.read),
    cacheWriteTokens: count(cache.write),
  }
}

function add(a: Spent, b: Spent): Spent {
  return {
    usage: {
      inputTokens: a.usage.inputTokens + b.usage.inputTokens,
      outputTokens: a.usage.outputTokens + b.usage.outputTokens,
      cacheReadTokens: a.usage.cacheReadTokens + b.usage.cacheReadTokens,
      cacheWriteTokens: a.usage.cacheWriteTokens + b.usage.cacheWriteTokens,
    },
    costUsd: a.costUsd + b.costUsd,
  }
}

function count(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.round(value) : 0
}
