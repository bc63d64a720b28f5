/** The runs that a worker has: from the claim until the server knows how they have ended. */
import { Backoff } from './backoff.js'
import { Bell } from './bell.js'
import type { Hearer } from './hooks.js'
import type { Ending } from './outcome.js'
import type { Children, Run, StopReason } from './run.js'

export interface Progress {
  done: number
  total: number | undefined
  message: string | undefined
}

export class HeldRun {
  readonly id: string
  readonly attempt: number
  /** How often it says that it is alive. */
  readonly interval: number
  nextBeat: number
  /** By the clock of this machine, and rather too early. */
  leaseEnds: number
  /** The handler is done; the server does not know it yet. */
  ending: Ending | undefined
  /** The server has not taken its end so far, and nothing waits for that. */
  isPutOff = false
  /** How often the server has refused its end. From the first time on it goes alone. */
  refusals = 0
  readonly backoff = new Backoff()
  /** When its end is told again. */
  due = 0
  progress: Progress | undefined
  nextProgress = 0
  /** Of a run that waits for its children: called with how they have ended if none is live, and else without. */
  goOn: ((children?: Children) => void) | undefined

  constructor(
    readonly run: Run,
    readonly lease: number,
    longestInterval: number,
    now: number,
  ) {
    this.id = run.job.id
    this.attempt = run.job.attempt
    this.interval = Math.min(lease / 3, longestInterval)
    this.nextBeat = now + this.interval
    this.leaseEnds = now + lease
  }
}

/** A run that was told that it is lost keeps its job from others no longer, also where the lease ended by our own clock only. */
const beats = (held: HeldRun): boolean => held.run.stopped !== 'lost'

/** All calls lock rows by id. */
export function byId(a: HeldRun, b: HeldRun): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : a.id > b.id ? 1 : a.attempt - b.attempt)
}

export class HeldRuns {
  /** Rings when a run has come, or has something to say. */
  readonly changed = new Bell()
  /** Rings when a handler is done, a run has gone, or its end was put off. */
  readonly freed = new Bell()
  readonly #runs = new Set<HeldRun>()
  readonly #hear: Hearer

  constructor(hear: Hearer) {
    this.#hear = hear
  }

  get size(): number {
    return this.#runs.size
  }

  add(held: HeldRun): void {
    this.#runs.add(held)
  }

  remove(held: HeldRun): void {
    this.#runs.delete(held)
    held.goOn?.()
    held.goOn = undefined
    this.freed.ring()
  }

  putOff(held: HeldRun): void {
    held.isPutOff = true
    this.freed.ring()
  }

  /** Until the server knows the end of each run whose handler is done, but for those that it does not take now. */
  async allEndsKnown(signal: AbortSignal): Promise<void> {
    const isOnItsWay = (held: HeldRun) => held.ending !== undefined && !held.isPutOff
    while (!signal.aborted && [...this.#runs].some(isOnItsWay)) await this.freed.wait(undefined, signal)
  }

  stop(held: HeldRun, reason: StopReason): void {
    // What it has done by now is told as it is, and the server decides.
    if (held.ending === undefined && held.run.stop(reason)) this.#hear.tell('stopping', held.run, reason)
  }

  stopAll(reason: StopReason): void {
    for (const held of this.#runs) this.stop(held, reason)
  }

  /** Whose leases are over by our own clock, whether or not the server can be reached. */
  expire(now: number): void {
    for (const held of this.#runs) if (held.leaseEnds <= now) this.stop(held, 'lost')
  }

  /** When something falls due. */
  nextMoment(isBeating: boolean): number {
    let moment = Infinity
    for (const held of this.#runs) {
      if (held.ending === undefined && held.run.stopped !== 'lost') moment = Math.min(moment, held.leaseEnds)
      if (isBeating) continue
      if (beats(held)) moment = Math.min(moment, held.nextBeat)
      if (held.progress) moment = Math.min(moment, held.nextProgress)
    }
    return moment
  }

  /** The runs that are due, with those that are nearly so, which saves a call. */
  takeDue(now: number): HeldRun[] {
    const beating = [...this.#runs].filter(beats)
    if (!beating.some((held) => held.nextBeat <= now)) return []
    const due = beating.filter((held) => held.nextBeat <= now + held.interval / 3)
    for (const held of due) held.nextBeat = now + held.interval
    return due.sort(byId)
  }

  takeProgress(now: number, interval: number): [HeldRun, Progress][] {
    const found: [HeldRun, Progress][] = []
    for (const held of this.#runs) {
      if (!held.progress || held.nextProgress > now) continue
      if (held.ending === undefined) found.push([held, held.progress])
      held.progress = undefined
      held.nextProgress = now + interval
    }
    return found
  }

  /** Whether the runs are still this worker's is to be asked soon. */
  beatNow(now: number): void {
    for (const held of this.#runs) held.nextBeat = now
    this.changed.ring()
  }
}
