/** The life of one run: from the start of its handler to the moment when there is nothing left for it to do. */
import type { Handler } from './handler.js'
import type { HeldRun } from './held.js'
import type { Hearer } from './hooks.js'
import { endingOfError, endingOfResult, retry as retryOutcome, type Ending, type RetryRule } from './outcome.js'
import type { Children, StopReason } from './run.js'

/** Of a run that would wait for ever, or go on and on. */
const NO_OTHER_CHILDREN = 'the run waits for children, but the job has none, or the run was told already how all have ended'

export class Life {
  #isAbandoned = false

  constructor(
    readonly held: HeldRun,
    readonly handlers: ReadonlyMap<string, Handler>,
    readonly retry: readonly RetryRule[],
    readonly hear: Hearer,
    readonly tell: (held: HeldRun) => void,
    readonly forget: (held: HeldRun) => void,
  ) {}

  async live(): Promise<void> {
    const { held } = this
    // It was given back before its handler could begin.
    if (this.#isAbandoned || this.#isLate()) return
    for (;;) {
      const ending = await this.#attempt()
      if (this.#isAbandoned) return
      if (!ending) return this.forget(held)
      held.ending = ending
      if (ending.verb !== 'awaitChildren') return this.tell(held)
      const children = await new Promise<Children | undefined>((resolve) => {
        held.goOn = resolve
        this.tell(held)
      })
      if (!children) return
      if (this.#isAbandoned) {
        held.ending = { verb: 'release' }
        return this.tell(held)
      }
      if (!this.#isNews(children)) {
        held.ending = { verb: 'fail', error: NO_OTHER_CHILDREN, isMeant: true }
        return this.tell(held)
      }
      // The run goes on with how all have ended.
      held.run.goOn(children)
    }
  }

  /** After a stall that the lease has not outlasted others may have the job. If it is still ours, it is available again. */
  #isLate(): boolean {
    if (performance.now() < this.held.leaseEnds) return false
    this.held.ending = { verb: 'release' }
    this.#log(this.held.ending)
    this.tell(this.held)
    return true
  }

  /** The handler goes on, but the worker does not wait for it any more: the job is given back. */
  abandon(): void {
    const { held } = this
    this.#isAbandoned = true
    if (held.ending) return
    // It has waited for its children while the others were told to stop.
    held.run.stop('shutdown')
    const { id, attempt } = held
    this.hear.log('warn', 'the handler does not stop in time, and its job is given back', { id, attempt, kind: held.run.job.kind })
    const ending = afterStop({ verb: 'fail' }, held.run.stopped)
    if (!ending) return this.forget(held)
    held.ending = ending
    this.tell(held)
  }

  /** Undefined: there is nothing to say, since the run is not this worker's any more. */
  async #attempt(): Promise<Ending | undefined> {
    const { held, hear } = this
    const { run } = held
    const began = performance.now()
    let ending: Ending
    try {
      const { kind } = run.job
      const handler = this.handlers.get(kind) ?? this.handlers.get('*')
      if (!handler) throw retryOutcome({ error: `no handler for jobs of kind '${kind}'` })
      ending = endingOfResult(await hear.around(run, () => handler(run)))
    } catch (error) {
      ending = endingOfError(error, this.retry)
    }
    const left = afterStop(ending, run.stopped)
    hear.tell('ended', run, left ?? ending, performance.now() - began)
    if (this.#isAbandoned) return undefined
    this.#log(left)
    return left
  }

  /** By what becomes of the job: what a handler throws that was told to stop is no failure. */
  #log(ending: Ending | undefined): void {
    const { id, attempt, run } = this.held
    const about = { id, attempt, kind: run.job.kind, stopped: run.stopped }
    const hasFailed = ending?.verb === 'fail' || ending?.verb === 'discard'
    if (!ending) this.hear.log('warn', 'the run was lost: its lease is over, or others have ended it', about)
    else if (ending.verb === 'release') this.hear.log('info', 'a run is given back', about)
    else if (hasFailed && run.stopped === 'cancelled') this.hear.log('info', 'a run is cancelled', about)
    else if (hasFailed) this.hear.log('warn', 'a run has failed', { ...about, error: ending.error })
  }

  #isNews(children: Children): boolean {
    const told = this.held.run.job.children ?? { completed: 0, discarded: 0, cancelled: 0 }
    const names = ['completed', 'discarded', 'cancelled'] as const
    return names.some((name) => told[name] !== children[name])
  }
}

/** What a run leaves behind that was told to stop. */
export function afterStop(ending: Ending, reason: StopReason | undefined): Ending | undefined {
  if (reason === undefined || ending.verb === 'complete') return ending
  switch (reason) {
    case 'lost':
      return undefined
    case 'cancelled':
      // Makes the server cancel it.
      return { verb: 'fail', error: ending.error ?? 'cancelled' }
    case 'shutdown':
      // That it could not go on to its end is not its failure.
      return ending.verb === 'fail' && !ending.isMeant ? { verb: 'release' } : ending
  }
}
