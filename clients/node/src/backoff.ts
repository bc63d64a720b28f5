import { FIRST_PAUSE, LONGEST_PAUSE } from './fixed.js'

/** Pauses between attempts that fail: each about twice as long as the one before, and never the same for all workers. */
export class Backoff {
  #failures = 0

  /** In milliseconds: between half of the pause and all of it, so that workers that lost one server do not come back at once. */
  next(): number {
    const whole = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(this.#failures, 30))
    this.#failures += 1
    return whole * (0.5 + Math.random() / 2)
  }

  reset(): void {
    this.#failures = 0
  }
}
