/** A measured figure, beside what it is meant to be. */
export type Figure = {
  /** The bench that measured it. */
  readonly bench: string
  readonly what: string
  readonly unit: 'ms' | 'ratio' | 'per second' | 'MB' | '%'
  /** How many measurements stand behind it. */
  readonly samples: number
  /** By the name of a statistic, in the order in which they are shown. */
  readonly values: Readonly<Record<string, number>>
  /** In words; null where the figure only explains another one. */
  readonly goal: string | null
  readonly met: boolean | null
}

export type Goal = {
  readonly text: string
  isMet(values: Readonly<Record<string, number>>): boolean
}

/** A goal for one statistic. */
export function atMost(statistic: string, limit: number, text: string): Goal {
  return { text, isMet: (values) => (values[statistic] ?? Number.POSITIVE_INFINITY) <= limit }
}

export function atLeast(statistic: string, limit: number, text: string): Goal {
  return { text, isMet: (values) => (values[statistic] ?? 0) >= limit }
}

export function figure(
  facts: Pick<Figure, 'bench' | 'what' | 'unit' | 'samples' | 'values'>,
  goal?: Goal,
): Figure {
  return {
    ...facts,
    goal: goal?.text ?? null,
    met: goal === undefined ? null : goal.isMet(facts.values),
  }
}

/**
 * The smallest value of which at least this share of all is not greater (nearest rank).
 * @throws Error when there is no value
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = Math.max(0, Math.ceil(share * sorted.length) - 1)
  const value = sorted[at]
  if (value === undefined) throw new Error('Nothing was measured.')
  return value
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)

/** A percentile is told only where there are enough values for one beyond it. */
export function spread(values: readonly number[]): Record<string, number> {
  return {
    p50: percentile(values, 0.5),
    ...(values.length >= 20 ? { p95: percentile(values, 0.95) } : {}),
    ...(values.length >= 100 ? { p99: percentile(values, 0.99) } : {}),
    max: Math.max(...values),
  }
}
