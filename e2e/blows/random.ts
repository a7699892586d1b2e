/** How often each comes; what is absent never does. */
export type Weights<K extends string> = Readonly<Partial<Record<K, number>>>

/** Random choices that follow from a seed alone. */
export type Random = {
  /** At least `low`, less than `high`. */
  between(low: number, high: number): number
  /** A whole number of `low` to `high`, both included. */
  whole(low: number, high: number): number
  chance(probability: number): boolean
  /** @throws Error when there is nothing to choose from */
  pick<T>(from: readonly T[]): T
  /** One of the names, as often as its weight says. */
  weighted<K extends string>(weights: Weights<K>): K
  /** Another sequence, that does not depend on how much was taken from this one. */
  fork(name: string): Random
}

/** Mulberry32 over a hash of the seed's text. */
export function randomFrom(seed: string): Random {
  let state = hash(seed)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const random: Random = {
    between: (low, high) => low + next() * (high - low),
    whole: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]) => {
      const chosen = from[Math.floor(next() * from.length)]
      if (chosen === undefined) throw new Error('There is nothing to choose from.')
      return chosen
    },
    weighted: <K extends string>(weights: Weights<K>) => {
      const names = Object.keys(weights) as K[]
      const weightOf = (name: K) => weights[name] ?? 0
      let rest = next() * names.reduce((sum, name) => sum + weightOf(name), 0)
      for (const name of names) {
        rest -= weightOf(name)
        if (rest < 0) return name
      }
      return random.pick(names)
    },
    fork: (name) => randomFrom(`${seed}/${name}`),
  }
  return random
}

function hash(text: string): number {
  let value = 0x811c9dc5
  for (const character of text) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  return value
}
