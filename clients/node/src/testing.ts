/** For tests: all in one transaction that is rolled back in the end, by turnstile.claim_own. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { arrayOf, rowsOf, type Database } from './database.js'
import type { Handler, Handlers } from './handler.js'
import { Hearer } from './hooks.js'
import { inlineRunner } from './inline.js'
import { readJob } from './job.js'
import { toJson } from './json.js'
import { checkedRules, endingOfError, endingOfResult, Outcome, type Ending, type RetryRule } from './outcome.js'
import { Run, type Children, type Job } from './run.js'
import { OWN } from './testing_sql.js'

export interface DrainOptions {
  /** All unless told otherwise. */
  queues?: readonly string[] | undefined
  /** As for the worker. */
  retry?: readonly RetryRule[] | undefined
  /**
   * Whether errors of handlers are thrown here, as they are unless told otherwise. Outcomes, and errors for which `retry` has one, end the
   * run. false: errors fail the run, too; a job that is to be retried later stays.
   */
  raises?: boolean | undefined
  /** More runs than this are an endless loop, and an AssertionError. 10,000 unless told otherwise. */
  most?: number | undefined
}

/** Runs the jobs that this transaction has enqueued, one after the other, and those that come of them. Returns them in order. */
export async function drain(database: Database, handlers: Handlers, options: DrainOptions = {}): Promise<Job[]> {
  if (database instanceof pg.Pool) throw new TypeError('drain needs the client that holds the transaction, and not a pool')
  const { queues = ['*'], most = 10_000, retry = [] } = options
  checkedRules(retry)
  const done: Job[] = []
  for (;;) {
    const [row] = await rowsOf(database, OWN.claim, [arrayOf(queues)])
    if (!row) return done
    const { job } = readJob(Object.values(row) as (string | null)[])
    done.push(job)
    assert.ok(done.length <= most, `more than ${most} runs: does a job add itself again?`)
    await runToItsEnd(database, job, handlers, options)
  }
}

async function runToItsEnd(database: Database, job: Job, handlers: Handlers, { retry = [], raises = true }: DrainOptions): Promise<void> {
  const run = new Run(job, () => {})
  for (;;) {
    const ending = await attempt(run, handlers, retry, raises)
    if (ending.verb !== 'awaitChildren') return end(database, job, ending)
    const [waits] = await rowsOf(database, OWN.awaitChildren, [job.id, String(job.attempt)])
    if (waits?.['waits']) return
    const [children] = await rowsOf(database, OWN.children, [job.id])
    assert.ok(run.job.children === null && children, `job ${job.id} waits for children, but has no live ones`)
    run.goOn(children as unknown as Children)
  }
}

async function attempt(run: Run, handlers: Handlers, rules: readonly RetryRule[], raises: boolean): Promise<Ending> {
  let thrown: unknown
  let ending: Ending
  try {
    const own = Object.hasOwn(handlers, run.job.kind) ? handlers[run.job.kind] : undefined
    const handler: Handler | undefined = own ?? handlers['*']
    if (!handler) throw new Error(`no handler for jobs of kind '${run.job.kind}'`)
    ending = endingOfResult(await new Hearer().around(run, () => handler(run)))
    if (ending.verb === 'fail') thrown = new assert.AssertionError({ message: ending.error ?? 'the run has failed' })
  } catch (error) {
    thrown = error
    ending = endingOfError(error, rules)
  }
  const isMeant = thrown instanceof Outcome || (ending.isMeant && !(thrown instanceof assert.AssertionError))
  if (raises && thrown !== undefined && ending.verb === 'fail' && !isMeant) throw thrown
  return ending
}

async function end(database: Database, { id, attempt }: Job, { verb, result, error, errorClass, after }: Ending): Promise<void> {
  const time = after === undefined ? null : `${after} milliseconds`
  const more = { complete: [result], fail: [error, errorClass, time], discard: [error, errorClass], snooze: [time], release: [], awaitChildren: [] }[verb]
  await rowsOf(database, OWN[verb], [id, String(attempt), ...more.map((value) => value ?? null)])
}

/** A job that was added, as far as tests ask for it. */
export interface Enqueued {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly queue: string
  readonly payload: any
  readonly metadata: any
  readonly tenant: string | null
  readonly account: string | null
  readonly session: string | null
  readonly concurrencyKey: string | null
  readonly priority: number
  readonly runAt: Date
  readonly maxAttempts: number
  readonly uniqueKey: string | null
}

/** payload, metadata: one that contains this. All others: equal to this. */
export type Wanted = { [N in keyof Enqueued]?: Enqueued[N] | undefined }

/** The live jobs of a kind that are as wanted, in order. */
export async function enqueued(database: Database, kind: string, { payload, metadata, ...columns }: Wanted = {}): Promise<Enqueued[]> {
  const rows = await rowsOf(database, OWN.jobs, [kind, toJson(payload) ?? null, toJson(metadata) ?? null])
  return rows.map(read).filter((job) => Object.entries(columns).every(([name, value]) => {
    if (!(name in job)) throw new TypeError(`a job has no column ${name}`)
    const found = job[name as keyof Enqueued]
    return value === undefined || String(value instanceof Date ? value.getTime() : value) === String(found instanceof Date ? found.getTime() : found)
  }))
}

function read(row: Record<string, any>): Enqueued {
  return { ...JSON.parse(row['job']), id: row['id'], runAt: new Date(Number(row['run_at'])) }
}

/** Fails unless there is such a job, or there are `count` of them. Returns them. */
export async function assertEnqueued(
  database: Database, kind: string, { count, ...wanted }: Wanted & { count?: number | undefined } = {},
): Promise<Enqueued[]> {
  const found = await enqueued(database, kind, wanted)
  if (count === undefined ? found.length > 0 : found.length === count) return found
  const known = await rowsOf(database, OWN.known)
  throw new assert.AssertionError({
    message: `expected ${count ?? 'at least one'} of kind '${kind}' with ${JSON.stringify(wanted)}; the live jobs are: ${known.map(({ job }) => job).join(', ') || 'none'}`,
    actual: found.length,
    expected: count,
    operator: 'assertEnqueued',
    stackStartFn: assertEnqueued,
  })
}

/** Within `work` enqueue, enqueueMany and enqueueBatch run the jobs at once, in the caller's transaction. */
export function inline<T>(handlers: Handlers, work: () => Promise<T>, options: DrainOptions = {}): Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  const run = async (database: Database) => {
    // What a handler enqueues is run by the loop that runs the handler, and not inside of it.
    const own = last.then(() => inlineRunner.exit(() => drain(database, handlers, options)))
    last = own.catch(() => {})
    await own
  }
  return inlineRunner.run(run, work)
}

/** Calls `work` with a client in a transaction that is rolled back in the end. A pool, or what a client of node-postgres takes. */
export async function inTransaction<T>(
  server: pg.Pool | pg.ClientConfig | string, work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const pool = server instanceof pg.Pool ? server : new pg.Pool({ ...(typeof server === 'string' ? { connectionString: server } : server), max: 1 })
  try {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      return await work(client)
    } finally {
      await client.query('ROLLBACK').finally(() => client.release())
    }
  } finally {
    if (pool !== server) await pool.end()
  }
}
