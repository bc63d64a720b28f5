/** Enqueues on the caller's own connection, in its transaction. */
import { arrayOf, rowsOf, type Database } from './database.js'
import { interval, type Duration } from './duration.js'
import { toId, type JobId, type JobIdLike } from './id.js'
import { runsInline } from './inline.js'
import { toJson } from './json.js'

export type UniqueMode =
  | 'until_executing' | 'until_executed' | 'until_expired' | 'while_executing' | 'until_and_while_executing' | 'replace'
export type JobState = 'available' | 'scheduled' | 'blocked' | 'retryable' | 'running' | 'completed' | 'cancelled' | 'discarded'
export type UniqueColumn = 'kind' | 'payload' | 'queue' | 'tenant' | 'account' | 'session' | 'concurrency_key'

/** The arguments of turnstile.enqueue. */
export interface JobOptions {
  queue?: string | undefined
  tenant?: string | undefined
  account?: string | undefined
  session?: string | undefined
  concurrencyKey?: string | undefined
  /** Lower runs first. */
  priority?: number | undefined
  /** A text is read by PostgreSQL. Where it names no time zone, that of the connection counts. */
  runAt?: Date | string | undefined
  maxAttempts?: number | undefined
  uniqueKey?: string | undefined
  uniqueMode?: UniqueMode | undefined
  uniqueFor?: Duration | undefined
  uniqueBy?: readonly UniqueColumn[] | undefined
  uniqueStates?: readonly JobState[] | undefined
  metadata?: unknown
  parent?: JobIdLike | undefined
  after?: readonly JobIdLike[] | undefined
  afterAnyEnd?: boolean | undefined
  afterHold?: boolean | undefined
}

/** One of many jobs. */
export interface NewJob<P = unknown> extends JobOptions {
  kind: string
  payload?: P
  /** A name by which others of the same call refer to the job in afterRefs. */
  ref?: string | undefined
  afterRefs?: readonly string[] | undefined
}

/** The arguments of turnstile.enqueue_batch. */
export interface BatchOptions extends JobOptions {
  children?: readonly NewJob[] | undefined
  slots?: number | undefined
  rate?: number | undefined
  ratePer?: Duration | undefined
  burst?: number | undefined
  maxFailed?: number | undefined
  onEnd?: 'run' | 'run_if_all_completed' | 'complete' | undefined
}

export interface Added {
  readonly id: JobId
  /** False: the id is that of the job that holds the unique key. */
  readonly created: boolean
}

/** Adds a job. payload: anything that JSON can say, or rawJson(text); undefined: {}. */
export async function enqueue<P = unknown>(database: Database, kind: string, payload?: P, options: JobOptions = {}): Promise<Added> {
  const [text, values] = call(JOB, { kind, payload, ...options })
  const [row] = await rowsOf(database, `SELECT id::text AS id, created FROM turnstile.enqueue_if_new(${text})`, values)
  await runsInline(database)
  return { id: row?.['id'], created: row?.['created'] }
}

/** Adds all of the jobs or none. Returns what became of each, in order. */
export async function enqueueMany(database: Database, jobs: Iterable<NewJob>): Promise<Added[]> {
  const text = `[${Array.from(jobs, element).join()}]`
  const rows = await rowsOf(database, 'SELECT id::text AS id, created FROM turnstile.enqueue_many($1::text::jsonb) ORDER BY ord', [text])
  await runsInline(database)
  return rows.map(({ id, created }) => ({ id, created }))
}

/** Adds a job that runs when its children have ended, and returns its id. */
export async function enqueueBatch<P = unknown>(
  database: Database, kind: string, payload?: P, options: BatchOptions = {},
): Promise<JobId> {
  const [text, values] = call(BATCH, { kind, payload, ...options })
  const [row] = await rowsOf(database, `SELECT turnstile.enqueue_batch(${text})::text AS id`, values)
  await runsInline(database)
  return row?.['id']
}

// ---- values: as a text for a parameter, which any driver takes, and as JSON for one of many

interface Type {
  /** The argument of the function in SQL. */
  readonly name: string
  readonly type: string
  readonly toText: (value: any) => string
  readonly toJson: (value: any) => string
}
type Types = Readonly<Record<string, Type>>

const of = (name: string, type: string, toText: (value: any) => string, toJsonToo?: (value: any) => string): Type => ({
  name,
  type,
  toText,
  toJson: toJsonToo ?? ((value) => JSON.stringify(toText(value))),
})
const text = (name: string) => of(name, 'text', String)
const int = (name: string) => of(name, 'int', String, JSON.stringify)
const boolean = (name: string) => of(name, 'boolean', String, JSON.stringify)
const json = (name: string) => of(name, 'jsonb', jsonText, jsonText)
const time = (name: string) => of(name, 'interval', interval)
const texts = (name: string) => of(name, 'text[]', arrayOf, JSON.stringify)

const JOB: Types = {
  kind: text('kind'), payload: json('payload'), queue: text('queue'), tenant: text('tenant'), account: text('account'),
  session: text('session'), concurrencyKey: text('concurrency_key'), priority: int('priority'), runAt: of('run_at', 'timestamptz', moment),
  maxAttempts: int('max_attempts'), uniqueKey: text('unique_key'), uniqueMode: text('unique_mode'), uniqueFor: time('unique_for'),
  uniqueBy: texts('unique_by'), uniqueStates: texts('unique_states'), metadata: json('metadata'), parent: of('parent', 'bigint', toId, toId),
  after: of('after', 'bigint[]', (ids) => `{${ids.map(toId)}}`, (ids) => `[${ids.map(toId)}]`), afterAnyEnd: boolean('after_any_end'),
  afterHold: boolean('after_hold'),
}
const ELEMENT: Types = { ...JOB, ref: text('ref'), afterRefs: texts('after_refs') }
const BATCH: Types = {
  ...JOB, slots: int('slots'), rate: int('rate'), ratePer: time('rate_per'), burst: int('burst'), maxFailed: int('max_failed'),
  onEnd: text('on_end'), children: of('children', 'jsonb', (children: NewJob[]) => `[${children.map(element)}]`),
}

function call(types: Types, given: NewJob & BatchOptions): [string, string[]] {
  const values: string[] = []
  const text = valuesOf(types, given).map(([{ name, type, toText }, value]) => `${name} => $${values.push(toText(value))}::text::${type}`)
  return [text.join(', '), values]
}

function element(job: NewJob): string {
  return `{${valuesOf(ELEMENT, job).map(([type, value]) => `"${type.name}":${type.toJson(value)}`)}}`
}

/** Null is the same as a value that is left out; only a payload may be null. */
function valuesOf(types: Types, given: NewJob & BatchOptions): [Type, unknown][] {
  if (typeof given.kind !== 'string') throw new TypeError(`a job needs a kind, which is a text and not ${String(given.kind)}`)
  const found: [Type, unknown][] = []
  for (const [name, value] of Object.entries(given)) {
    const type = Object.hasOwn(types, name) ? types[name] : undefined
    if (!type) throw new TypeError(`a job has no option ${name}`)
    if (value !== undefined && (value !== null || name === 'payload')) found.push([type, value])
  }
  return found
}

function jsonText(value: unknown): string {
  return toJson(value) ?? 'null'
}

function moment(value: Date | string): string {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string') return value
  throw new TypeError(`runAt must be a Date or a text, not ${String(value)}`)
}
