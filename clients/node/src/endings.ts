/**
 * Ends on their way to the server. While one call lasts others gather, and go together in the next: no run waits for a timer, and short
 * jobs end many at a time. One that the server has refused goes alone from then on, after pauses that grow.
 */
import { Bell } from './bell.js'
import { described, isHopeless, isLocked, isSuperseded, remedyFor } from './errors.js'
import { MOST_ENDS, MOST_REFUSALS } from './fixed.js'
import { byId, type HeldRun, type HeldRuns } from './held.js'
import type { Hearer } from './hooks.js'
import { Closed, type Link } from './link.js'
import { textOf } from './failure.js'
import type { Session } from './session.js'
import { AWAIT_CHILDREN, CHILDREN } from './statements.js'
import { callFor, groupsOf } from './telling.js'

/** The connection is of no use any more, and what was not told yet is told by the next one. */
class Lost extends Error {}

export class Endings {
  readonly #link: Link
  readonly #held: HeldRuns
  readonly #hear: Hearer
  readonly #coming = new Bell()
  readonly #giveUp = new AbortController()
  #waiting: HeldRun[] = []
  #isClosed = false

  constructor(link: Link, held: HeldRuns, hear: Hearer) {
    this.#link = link
    this.#held = held
    this.#hear = hear
  }

  add(held: HeldRun): void {
    this.#waiting.push(held)
    this.#coming.ring()
  }

  /** A run that cannot say that it is alive is lost in the end, and would be claimed again and again. Error: Closed. */
  async connected(signal: AbortSignal): Promise<void> {
    await this.#link.session(signal)
  }

  /** No more come. */
  close(): void {
    this.#isClosed = true
    this.#coming.ring()
  }

  giveUp(): void {
    this.#giveUp.abort()
  }

  /** Tells ends until it is closed and all are told, or it is to give up. Returns how many ends the server does not know of. */
  async tellAll(): Promise<number> {
    while (!this.#giveUp.signal.aborted && !(this.#isClosed && this.#waiting.length === 0)) {
      const telling = this.#takeDue(performance.now())
      if (telling.length > 0) await this.#round(telling)
      else await this.#coming.wait(this.#untilNextIsDue(), this.#giveUp.signal)
    }
    return this.#waiting.length
  }

  #takeDue(now: number): HeldRun[] {
    const due: HeldRun[] = []
    const later: HeldRun[] = []
    for (const held of this.#waiting) (held.due <= now && due.length < MOST_ENDS ? due : later).push(held)
    this.#waiting = later
    return due.sort(byId)
  }

  #untilNextIsDue(): number | undefined {
    if (this.#waiting.length === 0) return undefined
    const first = this.#waiting.reduce((least, held) => Math.min(least, held.due), Infinity)
    return Math.max(0, first - performance.now())
  }

  /** What had no answer is told again: the server knows a run by its attempt, and ends none of them twice. */
  async #round(telling: HeldRun[]): Promise<void> {
    const left = new Set(telling)
    let session: Session | undefined
    try {
      session = await this.#link.session(this.#giveUp.signal)
      for (const group of groupsOf(telling)) await this.#tell(session, group, left)
      this.#link.works()
    } catch (error) {
      if (session && error instanceof Lost) await this.#link.giveUp(session, error.cause)
      else if (!(error instanceof Closed)) this.#hear.log('error', 'telling ends has failed', { error: textOf(error) })
    } finally {
      this.#waiting.push(...left)
    }
  }

  async #tell(session: Session, group: HeldRun[], left: Set<HeldRun>): Promise<void> {
    try {
      if (await this.#call(session, group)) for (const held of group) this.#held.remove(held)
      for (const held of group) left.delete(held)
    } catch (error) {
      const remedy = remedyFor(error, session.isLost)
      if (remedy === 'reconnect') throw new Lost('lost', { cause: error })
      if (remedy === 'elsewhere' && (await this.#link.isReadOnly(session))) throw new Lost('read-only', { cause: error })
      const [first] = group
      // It is not known which of them it was.
      if (group.length > 1) for (const held of group) await this.#tell(session, [held], left)
      else if (first && !this.#isToldAgain(first, error)) left.delete(first)
    }
  }

  /** False: the run goes on. */
  async #call(session: Session, group: HeldRun[]): Promise<boolean> {
    const [first] = group
    if (first?.ending?.verb === 'awaitChildren') return this.#awaitChildren(session, first)
    const { text, values, isCounted } = callFor(group)
    const rows = await session.rows(text, values)
    const late = isCounted ? group.length - Number(rows[0]?.[0]) : 0
    if (late > 0) {
      const message = 'ends came too late: the runs were lost, or the server knew of their ends'
      this.#hear.log('warn', message, late < group.length ? { late } : { runs: group.map(({ id, attempt }) => ({ id, attempt })) })
    }
    return true
  }

  /** Where no child is live the run goes on, with how all have ended. */
  async #awaitChildren(session: Session, held: HeldRun): Promise<boolean> {
    const { id, attempt } = held
    const [row] = await session.rows(AWAIT_CHILDREN, [id, attempt])
    if (row?.[0] === 't') return true
    const [ended] = await session.rows(CHILDREN, [id])
    const [completed, discarded, cancelled] = (ended ?? []).map(Number)
    held.ending = undefined
    held.goOn?.({ completed: completed ?? 0, discarded: discarded ?? 0, cancelled: cancelled ?? 0 })
    held.goOn = undefined
    return false
  }

  /** Whether an end that was refused is to be told again, perhaps as a failure. */
  #isToldAgain(held: HeldRun, error: unknown): boolean {
    const { id, attempt, ending } = held
    if (!ending) return false
    const isLost = isSuperseded(error, held)
    const waitsForLock = isLocked(error)
    if (!waitsForLock) held.refusals += 1
    const isEnough = !waitsForLock && (isHopeless(error) || held.refusals >= MOST_REFUSALS)
    const isGivenUp = isLost || (isEnough && ending.verb === 'fail')
    this.#hear.tell('refused', held.run, ending, error, isGivenUp)
    const about = { id, attempt, verb: ending.verb, error: described(error) }
    if (isGivenUp) {
      this.#hear.log('warn', isLost ? 'the run was lost, or its end was known' : 'the run cannot be ended; it fails when its lease is over', about)
      this.#held.remove(held)
      return false
    }
    if (!held.isPutOff || isEnough) this.#hear.log('warn', 'the server does not take the end of the run now; it is told again', about)
    if (isEnough) {
      held.ending = { verb: 'fail', error: `the server refuses how the run has ended: ${described(error)}` }
      held.refusals = 1
      held.backoff.reset()
      held.due = 0
    } else {
      held.due = performance.now() + held.backoff.next()
    }
    this.#held.putOff(held)
    return true
  }
}
