/** Runs one piece of work after the other, in the order in which they were asked for. */
export class SerialQueue {
  #tail: Promise<unknown> = Promise.resolve()

  /** Settles as the work does; a failure does not hold up what comes after it. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work)
    this.#tail = done.catch(() => undefined)
    return done
  }

  /** Resolves when everything that was asked for until now is done. */
  async idle(): Promise<void> {
    await this.#tail
  }
}
