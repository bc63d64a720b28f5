import { Claims, type Claimed } from './claims.js'
import { Endings } from './endings.js'
import { textOf } from './failure.js'
import { WORTH_A_CLAIM } from './fixed.js'
import type { Handler, Handlers } from './handler.js'
import { HeldRun, HeldRuns } from './held.js'
import { Hearer, type Hooks } from './hooks.js'
import { Life } from './life.js'
import { Link } from './link.js'
import { isObject, refuseAny, refuseUnless } from './options.js'
import { checkedRules, type RetryRule } from './outcome.js'
import { Pulse } from './pulse.js'
import { Run } from './run.js'
import { waysOf, type Connections } from './session.js'
import { checked, time, type Checked, type Settings, type Some } from './settings.js'
import type { Duration } from './duration.js'

export interface WorkerOptions extends Some<Settings> {
  /** Undefined: the PG variables, as node-postgres reads them. */
  connection?: Connections | undefined
  handlers?: Handlers | undefined
  /** What errors of handlers mean. */
  retry?: readonly RetryRule[] | undefined
  hooks?: Hooks | readonly Hooks[] | undefined
}

export interface StopOptions {
  /** Instead of the worker's own setting. */
  drain?: Duration | undefined
  grace?: Duration | undefined
  /** Runs are told to stop at once: the same as drain: 0. */
  hard?: boolean | undefined
}

/** The worker had to leave before the server knew how some runs had ended. Their jobs come back when their leases are over. */
export class Undelivered extends Error {
  override name = 'Undelivered'
  constructor(readonly runs: number) {
    super(`the server does not know how ${runs} run(s) have ended`)
  }
}

/** Node ends at SIGHUP otherwise, under nohup, too: it takes back what its parent has had ignored, and nothing tells of it. */
const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP']

/** Claims jobs, runs a handler for each, and tells the server how they have ended. */
export class Worker {
  readonly settings: Checked
  readonly #retry: readonly RetryRule[]
  readonly #handlers = new Map<string, Handler>()
  readonly #hear: Hearer
  readonly #held: HeldRuns
  readonly #claimLink: Link
  readonly #endLink: Link
  readonly #endings: Endings
  readonly #claims: Claims
  readonly #drains = new AbortController()
  readonly #stops = new AbortController()
  #running = 0
  readonly #lives = new Set<Life>()
  #deadline = Infinity
  #grace: number
  #over: Promise<void> | undefined

  constructor({ connection = {}, handlers = {}, retry = [], hooks, ...settings }: WorkerOptions = {}) {
    this.settings = checked(settings)
    this.#grace = this.settings.grace
    this.#retry = checkedRules(retry)
    this.#handleAll(handlers)
    if (typeof connection !== 'function') waysOf(connection)
    this.#hear = new Hearer(hooks)
    this.#held = new HeldRuns(this.#hear)
    this.#claimLink = new Link('claims', connection, this.settings.answer, this.#hear, true)
    this.#endLink = new Link('runs', connection, this.settings.answer, this.#hear)
    this.#endings = new Endings(this.#endLink, this.#held, this.#hear)
    const stop = { drains: this.#drains.signal, stops: this.#stops.signal }
    this.#claims = new Claims(this.#claimLink, this.settings, this.#held, this.#endings, this.#hear, stop)
  }

  /** Sets the handler of a kind of jobs, in place of one that it had. `*`: of all that have none. */
  handle<P = any>(kind: string, handler: Handler<P>): this {
    refuseUnless(typeof kind === 'string', "a handler needs the kind of its jobs, as in handle('send', …)")
    refuseUnless(typeof handler === 'function', `the handler of ${kind} must be a function`)
    this.#handlers.set(kind, handler)
    return this
  }

  /** A Map or an array has no kinds for names. */
  #handleAll(handlers: Handlers): void {
    refuseUnless(isObject(handlers) && !(Symbol.iterator in handlers), 'handlers must be an object with a function for each kind')
    for (const [kind, handler] of Object.entries(handlers)) this.handle(kind, handler)
  }

  /** How many handlers are at work. */
  get running(): number {
    return this.#running
  }

  /**
   * Works until it is told to stop, also over lost connections and restarts of the server. Rejects with what no second try would mend,
   * such as a missing permission, after runs have ended; and with Undelivered.
   *
   * signals: each of these is a soft stop, the second one is a hard stop. true: SIGTERM, SIGINT and SIGHUP.
   */
  run({ signals = false, ...others }: { signals?: boolean | readonly NodeJS.Signals[] | undefined } = {}): Promise<void> {
    refuseAny('run', Object.keys(others))
    refuseUnless(typeof signals === 'boolean' || Array.isArray(signals), 'signals must be true, false or an array of names')
    if (this.#over) return Promise.reject(new Error('a worker runs once'))
    const names: readonly NodeJS.Signals[] = signals === true ? STOP_SIGNALS : signals || []
    const stop = () => void this.stop({ hard: this.#drains.signal.aborted }).catch(() => {})
    for (const name of names) process.on(name, stop)
    this.#over = this.#work().finally(() => {
      for (const name of names) process.off(name, stop)
    })
    return this.#over
  }

  /**
   * No more jobs are taken. Runs may go on for `drain`, are told to stop then, and are given back after `grace`. Resolves when the worker
   * has stopped; it may be called again, for a harder stop. Handlers that do not listen to their signal are still at work then.
   */
  async stop({ drain, grace, hard = false, ...others }: StopOptions = {}): Promise<void> {
    refuseAny('stop', Object.keys(others))
    const longest = hard ? 0 : time(drain ?? this.settings.drain, 'drain')
    if (grace !== undefined) this.#grace = time(grace, 'grace')
    this.#deadline = Math.min(this.#deadline, performance.now() + longest)
    this.#drains.abort()
    if (longest === 0) this.#stops.abort()
    this.#held.freed.ring()
    // How it has ended is told to those that wait for run().
    await this.#over?.catch(() => {})
  }

  async #work(): Promise<void> {
    const stopsBeating = new AbortController()
    const beats = new Pulse(this.#endLink, this.#held, this.settings.lease, this.#hear).beat(stopsBeating.signal)
    const told = this.#endings.tellAll()
    let fatal: { error: unknown } | undefined
    try {
      await this.#claimAndRun()
    } catch (error) {
      fatal = { error }
      this.#deadline = Math.min(this.#deadline, performance.now() + this.settings.drain)
      this.#drains.abort()
    }
    this.#claims.letGo()
    // The server fails runs whose connection is gone.
    if (!this.settings.bindToConnection) this.#claimLink.close()
    await this.#drain()
    this.#endings.close()
    const timer = setTimeout(() => {
      this.#endings.giveUp()
      this.#endLink.close()
    }, this.settings.lastEnds)
    const undelivered = await told
    clearTimeout(timer)
    stopsBeating.abort()
    await beats
    this.#claimLink.close()
    this.#endLink.close()
    if (fatal) throw fatal.error
    if (undelivered > 0) throw new Undelivered(undelivered)
  }

  async #claimAndRun(): Promise<void> {
    while (await this.#awaitRoom()) {
      await this.#gatherRoom()
      const claimed = await this.#claims.next(Math.min(this.#room(), this.#share))
      if (claimed.length > 0) this.#start(claimed)
    }
  }

  /** How many jobs it can take. While the server does not hear of ends it holds no more than twice as many as may run. */
  #room(): number {
    const { concurrency } = this.settings
    return Math.max(0, Math.min(concurrency - this.#running, 2 * concurrency - this.#held.size))
  }

  /** Of many jobs a claim takes half, so that handlers run while the server makes the next claim. */
  get #share(): number {
    const { concurrency } = this.settings
    return Math.max(Math.min(concurrency, WORTH_A_CLAIM), Math.ceil(concurrency / 2))
  }

  /** False: it is to stop. */
  async #awaitRoom(): Promise<boolean> {
    while (!this.#drains.signal.aborted) {
      if (this.#room() > 0) return true
      // It is ends that are waited for, and no claim will take them along.
      if (this.#running < this.settings.concurrency) this.#claims.letGo()
      await this.#held.freed.wait(undefined, this.#drains.signal)
    }
    return false
  }

  /** Short jobs end soon after each other: then one claim is enough for all of them. */
  async #gatherRoom(): Promise<void> {
    const until = performance.now() + this.#claims.patience
    while (this.#running > 0 && this.#room() < this.#share && performance.now() < until) {
      await this.#held.freed.wait(until - performance.now(), this.#drains.signal)
    }
  }

  /** Handlers begin in a moment, when the next claim is on its way. */
  #start(claimed: readonly Claimed[]): void {
    const lives = claimed.map((each) => this.#take(each))
    setImmediate(() => {
      for (const life of lives) if (life) this.#begin(life)
    })
    this.#held.changed.ring()
  }

  /** Undefined: it has ended already. */
  #take({ job, lease, asked }: Claimed): Life | undefined {
    const run: Run = new Run(job, (done, total, message) => {
      held.progress = { done, total, message }
      this.#held.changed.ring()
    }, this.settings.parse)
    const held = new HeldRun(run, lease, this.settings.heartbeat, asked)
    this.#held.add(held)
    if (this.#drains.signal.aborted) {
      // Claimed at the very moment that the worker was told to stop.
      held.ending = { verb: 'release' }
      this.#claims.ended(held)
      return undefined
    }
    this.#running += 1
    const life = new Life(held, this.#handlers, this.#retry, this.#hear, (ended) => this.#claims.ended(ended), (gone) => this.#held.remove(gone))
    this.#lives.add(life)
    return life
  }

  #begin(life: Life): void {
    life.live().catch((error) => this.#hear.log('error', 'a run has no end', { error: textOf(error) })).finally(() => {
      this.#lives.delete(life)
      this.#running -= 1
      this.#held.freed.ring()
    })
  }

  /** Runs may end by themselves for a while, and are then told to stop. What goes on after that is given back. */
  async #drain(): Promise<void> {
    while (this.#lives.size > 0 && performance.now() < this.#deadline) {
      await this.#held.freed.wait(Math.max(0, this.#deadline - performance.now()))
    }
    if (this.#lives.size === 0) return
    this.#hear.log('warn', 'runs are told to stop', { runs: this.#lives.size })
    this.#stops.abort()
    this.#held.stopAll('shutdown')
    const asked = performance.now()
    while (this.#lives.size > 0 && performance.now() < asked + this.#grace) {
      await this.#held.freed.wait(Math.max(0, asked + this.#grace - performance.now()))
    }
    for (const life of this.#lives) life.abandon()
  }
}
