import { hostname } from 'node:os'
import { milliseconds, type Duration } from './duration.js'
import { refuseAny, refuseUnless } from './options.js'

/** What a worker is told. All defaults are in DEFAULTS. */
export interface Settings {
  /** Claimed from in this order: the second where the first has too few jobs. `*` stands for all. At most 32. */
  queues: readonly string[]
  /** How many jobs run at once. */
  concurrency: number
  /** Kept in job.worker. */
  name: string
  /** How long a run counts as alive without a heartbeat. Undefined: what its queue says. */
  lease: Duration | undefined
  /** The longest time between heartbeats, from which a run also learns that it was cancelled. A third of the lease if that is shorter. */
  heartbeat: Duration
  /** How long the worker sleeps in the server at a stretch while there is no work. */
  wait: Duration
  /** How long runs may go on after a soft stop, before they are told to stop. */
  drain: Duration
  /** How long a handler may go on after the stopping worker has told its run to stop. Then its job is given back. */
  grace: Duration
  /** How long the last ends may take to reach the server. */
  lastEnds: Duration
  /** A server that takes longer to answer a call, or to accept a connection, counts as lost. */
  answer: Duration
  /**
   * Whether runs are bound to the worker's connection: where that is lost, they fail at once and not when their leases are over.
   * No pooler in transaction mode may be between.
   */
  bindToConnection: boolean
  /** Reads payloads and metadata. */
  parse: (json: string) => unknown
}

/** Not all of them; undefined is the same as none. */
export type Some<T> = { [N in keyof T]?: T[N] | undefined }

export const DEFAULTS: Readonly<Settings> = Object.freeze({
  queues: Object.freeze(['default']),
  concurrency: 8,
  get name() {
    return `${hostname()}:${process.pid}`
  },
  lease: undefined,
  heartbeat: '15 seconds',
  wait: '5 minutes',
  drain: '30 seconds',
  grace: '10 seconds',
  lastEnds: '15 seconds',
  answer: '60 seconds',
  bindToConnection: false,
  parse: JSON.parse,
})

/** The settings with all times in milliseconds. */
export interface Checked {
  readonly queues: string[]
  readonly concurrency: number
  readonly name: string
  readonly lease: number | undefined
  readonly heartbeat: number
  readonly wait: number
  readonly drain: number
  readonly grace: number
  readonly lastEnds: number
  readonly answer: number
  readonly bindToConnection: boolean
  readonly parse: (json: string) => unknown
}

const MOST_QUEUES = 32
const MOST_AT_ONCE = 100_000
const LONGEST_TIMER = 2 ** 31 - 1

export function checked(given: Some<Settings>): Checked {
  refuseAny('a worker', Object.keys(given).filter((name) => !Object.hasOwn(DEFAULTS, name)))
  const settings = { ...DEFAULTS, ...definedOf(given) }
  const queues = [...settings.queues]
  const { concurrency, lease } = settings
  refuseIf(typeof settings.queues === 'string' || !queues.every((queue) => typeof queue === 'string'), 'queues must be an array of names')
  refuseIf(queues.length < 1 || queues.length > MOST_QUEUES, `a worker needs 1 to ${MOST_QUEUES} queues; * stands for all`)
  refuseIf(!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST_AT_ONCE, `concurrency must be 1 to ${MOST_AT_ONCE}`)
  refuseUnless(typeof settings.bindToConnection === 'boolean', 'bindToConnection must be true or false')
  refuseUnless(typeof settings.parse === 'function', 'parse must be a function')
  return {
    queues,
    concurrency,
    name: String(settings.name),
    lease: lease === undefined ? undefined : time(lease, 'lease', true),
    heartbeat: time(settings.heartbeat, 'heartbeat', true),
    wait: time(settings.wait, 'wait', true),
    drain: time(settings.drain, 'drain'),
    grace: time(settings.grace, 'grace'),
    lastEnds: time(settings.lastEnds, 'lastEnds'),
    answer: time(settings.answer, 'answer', true),
    bindToConnection: settings.bindToConnection,
    parse: settings.parse,
  }
}

export function time(value: Duration, name: string, isMore = false): number {
  const found = milliseconds(value)
  refuseIf(isMore && found <= 0, `${name} must be more than 0`)
  refuseIf(found > LONGEST_TIMER, `${name} must be less than 25 days`)
  return found
}

function refuseIf(isWrong: boolean, what: string): void {
  if (isWrong) throw new RangeError(what)
}

const definedOf = <T extends object>(given: Some<T>): Partial<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>
