/** Claims: as many jobs as there is room for, with the ends of those that are done; and sleep in the server where there are none. */
import { Backoff } from './backoff.js'
import { pause, unlessAborted } from './bell.js'
import { described, isCancelled, isRefusedByIsolation, remedyFor, sqlstate } from './errors.js'
import type { Endings } from './endings.js'
import {
  AFTER_VAIN_WAKE_UPS, LAST_ANSWER, LONGEST_PATIENCE, MOST_RESULTS, PATIENCE, VAIN_WAKE_UPS,
} from './fixed.js'
import { byId, type HeldRun, type HeldRuns } from './held.js'
import type { Hearer } from './hooks.js'
import { readJob } from './job.js'
import { Closed, type Link } from './link.js'
import type { Job } from './run.js'
import type { Row, Session } from './session.js'
import type { Checked } from './settings.js'
import { BEGIN, CLAIM, COMPLETE_AND_CLAIM, SLEEP } from './statements.js'
import { resultsOf, runsOf } from './telling.js'

export interface Claimed {
  readonly job: Job
  /** In milliseconds from the claim on. */
  readonly lease: number
  /** When it was asked for, by performance.now(). */
  readonly asked: number
}

// What no second try would mend: permissions, arguments, what is not installed, who may connect.
const FATAL = /^(42|22|28|3D|3F|0A|54)/

export class Claims {
  readonly #link: Link
  readonly #settings: Checked
  readonly #held: HeldRuns
  readonly #endings: Endings
  readonly #hear: Hearer
  readonly #drains: AbortSignal
  readonly #stops: AbortSignal
  readonly #backoff = new Backoff()
  #inVain = 0
  #usualTime = 0
  #hasOwnIsolation = false
  /** Completions that go along with the next claim. Undefined: no claim is about to be made. */
  #done: HeldRun[] | undefined
  #size = 0

  constructor(
    link: Link, settings: Checked, held: HeldRuns, endings: Endings, hear: Hearer, stop: { drains: AbortSignal; stops: AbortSignal },
  ) {
    this.#link = link
    this.#settings = settings
    this.#held = held
    this.#endings = endings
    this.#hear = hear
    this.#drains = stop.drains
    this.#stops = stop.stops
  }

  /** In milliseconds. */
  get patience(): number {
    return Math.min(this.#usualTime * PATIENCE, LONGEST_PATIENCE)
  }

  /** The handler is done. */
  ended(held: HeldRun): void {
    const { ending } = held
    const size = ending?.result?.length ?? 0
    if (this.#done && ending?.verb === 'complete' && this.#size + size <= MOST_RESULTS) {
      this.#done.push(held)
      this.#size += size
    } else {
      this.#endings.add(held)
    }
  }

  /** No claim follows for a while. */
  letGo(): void {
    const done = this.#done ?? []
    this.#done = undefined
    for (const held of done) this.#endings.add(held)
  }

  /** Up to so many jobs; none where it has slept, or where the worker drains. Errors: what no second try would mend. */
  async next(room: number): Promise<Claimed[]> {
    let session: Session | undefined
    try {
      session = await this.#link.session(this.#drains)
      await this.#endings.connected(this.#drains)
      const claimed = await this.#claim(session, room)
      if (claimed.length > 0) this.#inVain = 0
      else if (!this.#drains.aborted) await this.#sleep(session)
      this.#backoff.reset()
      this.#link.works()
      return claimed
    } catch (error) {
      this.letGo()
      if (error instanceof Closed) return []
      if (!session) throw error
      await this.#survive(session, error)
      return []
    }
  }

  async #claim(session: Session, room: number): Promise<Claimed[]> {
    const done = (this.#done ?? []).sort(byId)
    this.#done = []
    this.#size = 0
    const began = performance.now()
    const rows = await this.#completeAndClaim(session, room, done)
    const time = performance.now() - began
    if (rows.length > 0) this.#usualTime = time
    this.#hear.tell('claimed', rows.length, time)
    return rows.map((row) => ({ ...readJob(row, this.#settings.lease), asked: began }))
  }

  async #completeAndClaim(session: Session, room: number, done: HeldRun[]): Promise<Row[]> {
    if (done.length === 0) return this.#call(session, CLAIM, this.#arguments(room))
    try {
      const rows = await this.#call(session, COMPLETE_AND_CLAIM, [...runsOf(done), resultsOf(done), ...this.#arguments(room)])
      for (const held of done) this.#held.remove(held)
      return rows
    } catch (error) {
      // The server ends no run twice. It may have been the fault of those that have ended.
      for (const held of done) this.#endings.add(held)
      if (remedyFor(error, session.isLost) === 'reconnect') throw error
      if (sqlstate(error) === '42501') this.#link.tell('complete_and_claim is refused', error)
      return this.#call(session, CLAIM, this.#arguments(room))
    }
  }

  #arguments(room: number): unknown[] {
    const { queues, name, lease, bindToConnection } = this.#settings
    return [queues, room, name, lease === undefined ? null : lease / 1000, bindToConnection]
  }

  /** It is waited for also when the worker has to stop: what it has claimed has to be given back. */
  async #call(session: Session, text: string, values: unknown[]): Promise<Row[]> {
    let timer: NodeJS.Timeout | undefined
    const limit = () => (timer = setTimeout(() => session.hangUp(), LAST_ANSWER))
    if (this.#stops.aborted) limit()
    this.#stops.addEventListener('abort', limit)
    try {
      return await this.#committed(session, text, values)
    } finally {
      clearTimeout(timer)
      this.#stops.removeEventListener('abort', limit)
    }
  }

  /** What works everywhere costs two more messages, and only those pay who need it. */
  async #committed(session: Session, text: string, values: unknown[]): Promise<Row[]> {
    if (!this.#hasOwnIsolation) {
      try {
        return await session.rows(text, values)
      } catch (error) {
        if (!isRefusedByIsolation(error)) throw error
        this.#hear.log('info', 'claims are READ COMMITTED from now on, unlike the default')
        this.#hasOwnIsolation = true
      }
    }
    await session.rows(BEGIN)
    try {
      const rows = await session.rows(text, values)
      await session.rows('COMMIT')
      return rows
    } catch (error) {
      await session.rows('ROLLBACK').catch(() => {})
      throw error
    }
  }

  /** Ends go first: behind a pooler the sleeper may have the last connection to the server. */
  async #sleep(session: Session): Promise<void> {
    this.letGo()
    await this.#held.allEndsKnown(this.#drains)
    if (this.#inVain > VAIN_WAKE_UPS) await pause(AFTER_VAIN_WAKE_UPS, this.#drains)
    if (this.#drains.aborted) return
    this.#hear.tell('idle')
    const began = performance.now()
    const { queues, wait, answer, bindToConnection } = this.#settings
    // Runs that are bound to the connection end with it.
    const hangUp = () => void (bindToConnection || session.hangUp())
    this.#drains.addEventListener('abort', hangUp)
    try {
      const slept = session.rows(SLEEP, [queues, wait / 1000], wait + answer)
      await (bindToConnection ? unlessAborted(slept, this.#drains) : slept)
    } catch (error) {
      // A statement_timeout has ended the sleep: that is a wake-up, too.
      if (!this.#drains.aborted && !isCancelled(error)) throw error
    } finally {
      this.#drains.removeEventListener('abort', hangUp)
    }
    this.#inVain = performance.now() - began < AFTER_VAIN_WAKE_UPS ? this.#inVain + 1 : 0
  }

  async #survive(session: Session, error: unknown): Promise<void> {
    const remedy = remedyFor(error, session.isLost)
    if (remedy === 'reconnect') {
      if (this.#settings.bindToConnection) this.#held.beatNow(performance.now())
      if (!this.#drains.aborted) await this.#link.giveUp(session, error)
    } else if (remedy === 'elsewhere') {
      await this.#link.giveUp(session, error)
    } else if (FATAL.test(sqlstate(error) ?? '42')) {
      this.#hear.log('error', 'claims are refused, so the worker stops', { error: described(error) })
      throw error
    } else {
      this.#link.tell('a claim has failed', error)
      await pause(this.#backoff.next(), this.#drains)
    }
  }
}
