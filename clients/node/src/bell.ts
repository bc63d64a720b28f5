/** Wakes those that wait for a change. */
export class Bell {
  #waiting = new Set<() => void>()

  ring(): void {
    if (this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const wake of waiting) wake()
  }

  /** Until it rings, the time is over, or the signal is aborted. */
  wait(milliseconds?: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = milliseconds === undefined ? undefined : setTimeout(wake, milliseconds)
      signal?.addEventListener('abort', wake)
      this.#waiting.add(wake)
    })
  }
}

/** Returns early if the signal is aborted. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> => new Bell().wait(milliseconds, signal)
