import type { Refusal } from '../../src-shared/refusal.ts'

/** What keeps the host from working, while it lasts; shown by `host.doctor`. */
export class Problems {
  readonly #problems = new Map<string, Refusal>()

  set(name: string, problem: Refusal): void {
    this.#problems.set(name, problem)
  }

  clear(name: string): void {
    this.#problems.delete(name)
  }

  get list(): Refusal[] {
    return [...this.#problems.values()]
  }
}
