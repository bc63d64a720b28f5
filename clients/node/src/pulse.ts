/** One ticker for all runs: says that they are alive and how far they are, and hears which of them should stop. */
import { described, isSuperseded, remedyFor } from './errors.js'
import { PROGRESS_PAUSE } from './fixed.js'
import type { HeldRun, HeldRuns, Progress } from './held.js'
import type { Hearer } from './hooks.js'
import { Closed, type Link } from './link.js'
import { printable, textOf } from './failure.js'
import type { Session } from './session.js'
import { HEARTBEAT_MANY, PROGRESS } from './statements.js'
import { runsOf } from './telling.js'

/** Timers are not exact, and what falls due a moment later is due, too. */
const SLACK = 1

export class Pulse {
  readonly #link: Link
  readonly #held: HeldRuns
  readonly #lease: number | undefined
  readonly #hear: Hearer
  #isBeating = false

  constructor(link: Link, held: HeldRuns, lease: number | undefined, hear: Hearer) {
    this.#link = link
    this.#held = held
    this.#lease = lease
    this.#hear = hear
  }

  /** Leases end by our own clock, also while a call has no answer. */
  async beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const moment = this.#held.nextMoment(this.#isBeating)
      const now = performance.now()
      const length = moment === Infinity ? undefined : Math.max(0, moment - now)
      if (length === undefined || length > SLACK) await this.#held.changed.wait(length, signal)
      this.#held.expire(performance.now())
      if (this.#isBeating || signal.aborted) continue
      const due = this.#held.takeDue(performance.now() + SLACK)
      const progress = this.#held.takeProgress(performance.now() + SLACK, PROGRESS_PAUSE)
      if (due.length + progress.length > 0) void this.#tell(due, progress, signal)
    }
  }

  async #tell(due: HeldRun[], progress: [HeldRun, Progress][], signal: AbortSignal): Promise<void> {
    this.#isBeating = true
    try {
      if (due.length > 0) await this.#beatAll(due, signal)
      for (const [held, about] of progress) await this.#report(held, about, signal)
    } catch (error) {
      if (!(error instanceof Closed)) this.#hear.log('error', 'heartbeats have failed', { error: textOf(error) })
    } finally {
      this.#isBeating = false
      this.#held.changed.ring()
    }
  }

  async #beatAll(due: HeldRun[], signal: AbortSignal): Promise<void> {
    for (;;) {
      const session = await this.#link.session(signal)
      try {
        await this.#call(session, due)
        return this.#link.works()
      } catch (error) {
        const remedy = remedyFor(error, session.isLost)
        if (remedy === 'reconnect' || (remedy === 'elsewhere' && (await this.#link.isReadOnly(session)))) {
          await this.#link.giveUp(session, error)
          continue
        }
        // One was refused or is locked, and so none has beaten.
        for (const held of due) if (!session.isLost) await this.#beatAlone(session, held)
        return
      }
    }
  }

  async #beatAlone(session: Session, held: HeldRun): Promise<void> {
    try {
      await this.#call(session, [held])
    } catch (error) {
      const { id, attempt } = held
      this.#hear.log('warn', 'a heartbeat has failed', { id, attempt, error: described(error) })
    }
  }

  async #call(session: Session, due: HeldRun[]): Promise<void> {
    const asked = performance.now()
    const rows = await session.rows(HEARTBEAT_MANY, [...runsOf(due), this.#lease === undefined ? null : this.#lease / 1000])
    due.forEach((held, at) => {
      const status = rows[at]?.[0]
      if (status === 'lost') return this.#held.stop(held, 'lost')
      held.leaseEnds = asked + held.lease
      if (status === 'cancel_requested') this.#held.stop(held, 'cancelled')
    })
  }

  /** It is not told again: the next report says more. */
  async #report(held: HeldRun, { done, total, message }: Progress, signal: AbortSignal): Promise<void> {
    const session = await this.#link.session(signal)
    const values = [held.id, held.attempt, done, total ?? null, message === undefined ? null : printable(message)]
    try {
      const [row] = await session.rows(PROGRESS, values)
      if (row?.[0] === 'f') this.#held.stop(held, 'cancelled')
    } catch (error) {
      if (isSuperseded(error, held)) this.#held.stop(held, 'lost')
      else this.#hear.log('debug', 'progress was not taken', { id: held.id, error: described(error) })
    }
  }
}
