import { formatDuration } from './format-duration.js'

/** A timer that is asked for the time left; `now` gives milliseconds. */
export class Timer {
  #end
  #now

  constructor(seconds, now = Date.now) {
    this.#now = now
    this.#end = now() + seconds * 1000
  }

  secondsLeft() {
    return Math.max(0, Math.ceil((this.#end - this.#now()) / 1000))
  }

  toString() {
    return `${formatDuration(this.secondsLeft())} left`
  }
}
