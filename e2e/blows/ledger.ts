import type { InputId, SessionId } from '../../src-shared/ids.ts'
import { Follower } from './follower.ts'
import type { HostUnderBlows } from './host-under-blows.ts'

/** Something that was said to a session, with a word that occurs nowhere else. */
export type Said = {
  readonly session: SessionId
  /** Another one once it was edited. */
  word: string
  /** What it was before it was edited, which the model must never see. */
  readonly withdrawn: string[]
  /** Null for the ticket's own text, whose input the host makes. */
  readonly input: InputId | null
  /** `refused`: the host did not take it, which it may do. */
  outcome: 'open' | 'taken' | 'refused'
}

/** What was asked of the host in all rounds, to be held against what it has. */
export class Ledger {
  readonly said: Said[] = []
  readonly #followers = new Map<SessionId, Follower>()
  #words = 0

  /** A word that occurs nowhere else; no such word begins another one. */
  word(kind: string, round: number): string {
    this.#words += 1
    return `<${kind}-${round}-${this.#words}>`
  }

  say(session: SessionId, word: string, input: InputId | null): Said {
    const said: Said = { session, word, withdrawn: [], input, outcome: 'open' }
    this.said.push(said)
    return said
  }

  /** What was said with this input; undefined for a ticket's own. */
  saidWith(input: InputId): Said | undefined {
    return this.said.find((said) => said.input === input)
  }

  saidTo(session: SessionId): readonly Said[] {
    return this.said.filter((said) => said.session === session)
  }

  follow(session: SessionId, host: HostUnderBlows): void {
    if (!this.#followers.has(session)) this.#followers.set(session, new Follower(session, host))
  }

  follower(session: SessionId): Follower | undefined {
    return this.#followers.get(session)
  }

  /** Those of sessions that are not over. */
  get followers(): ReadonlyMap<SessionId, Follower> {
    return this.#followers
  }

  /** The session is over and was looked at: nothing of it changes any more. */
  forget(session: SessionId): void {
    this.#followers.get(session)?.stop()
    this.#followers.delete(session)
  }

  stop(): void {
    for (const follower of this.#followers.values()) follower.stop()
  }
}
