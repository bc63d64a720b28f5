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

/** The promise's own end, but undefined as soon as the signal is aborted. Leaves nothing behind at the signal. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  promise.catch(() => {})
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const leave = () => resolve(undefined)
    signal.addEventListener('abort', leave)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** Returns early if the signal is aborted. */
export const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> => new Bell().wait(milliseconds, signal)
