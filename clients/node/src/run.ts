import type { JobId } from './id.js'

/** How the children of a job have ended. */
export interface Children {
  readonly completed: number
  readonly discarded: number
  readonly cancelled: number
}

/** What the server says of a job that was claimed. */
export interface Job {
  /** With attempt, the run. A string: see JobId. */
  readonly id: JobId
  /** Claims of the job so far. */
  readonly attempt: number
  readonly queue: string
  readonly kind: string
  readonly priority: number
  readonly tenant: string | null
  readonly account: string | null
  readonly session: string | null
  readonly maxAttempts: number
  /** How many attempts may follow if this one fails. 0: it is the last one. */
  readonly attemptsLeft: number
  readonly createdAt: Date
  /** How the children of the job have ended. Null: it had none, or they were not waited for. */
  readonly children: Children | null
  /** The payload as the server has it, with all digits of its numbers. */
  readonly payloadText: string
  readonly metadataText: string | null
}

/** Why a run should stop before it is done. */
export type StopReason =
  /** The job was cancelled. */
  | 'cancelled'
  /** The lease is over, or the run was ended by others: whatever the handler does counts no more. */
  | 'lost'
  /** The worker stops, and the time that runs had to end is over. */
  | 'shutdown'

/** The reason of run.signal. Its name is AbortError, so that it is what functions that take a signal throw. */
export class Stopped extends Error {
  override name = 'AbortError'
  readonly code = 'ABORT_ERR'
  constructor(readonly reason: StopReason) {
    super(`the run should stop: ${reason}`)
  }
}

/** One attempt at a job, as its handler gets it. P is the type of its payload. */
export class Run<P = any> {
  #job: Job
  readonly #progress: (done: number, total: number | undefined, message: string | undefined) => void
  readonly #parse: (text: string) => unknown
  #payload: { value: P } | undefined
  #controller: AbortController | undefined
  #reason: StopReason | undefined

  /** @internal */
  constructor(
    job: Job,
    progress: (done: number, total: number | undefined, message: string | undefined) => void,
    parse: (text: string) => unknown = JSON.parse,
  ) {
    this.#job = job
    this.#progress = progress
    this.#parse = parse
  }

  /** What is to be done. */
  get job(): Job {
    return this.#job
  }

  /** What the producer passed. Parsed when it is first asked for. */
  get payload(): P {
    this.#payload ??= { value: this.#parse(this.job.payloadText) as P }
    return this.#payload.value
  }

  /** What the producer passed as metadata. */
  get metadata(): any {
    return this.job.metadataText === null ? null : this.#parse(this.job.metadataText)
  }

  /** Aborted when the run should stop. Pass it on to whatever takes one: fetch, timers, streams. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(new Stopped(this.#reason))
    }
    return this.#controller.signal
  }

  /** Why the run should stop. Undefined: it may go on. */
  get stopped(): StopReason | undefined {
    return this.#reason
  }

  /** Shows others how far the run is. It is sent soon, and of several in a row only the last one. */
  progress(done: number, total?: number, message?: string): void {
    if (!Number.isFinite(done) || !(total === undefined || Number.isFinite(total))) {
      throw new TypeError('done and total must be finite numbers')
    }
    this.#progress(done, total, message)
  }

  /** @internal The first reason counts. */
  stop(reason: StopReason): boolean {
    if (this.#reason) return false
    this.#reason = reason
    this.#controller?.abort(new Stopped(reason))
    return true
  }

  /** @internal The children have ended, and the handler is called again. */
  goOn(children: Children): void {
    this.#job = { ...this.#job, children }
  }
}
