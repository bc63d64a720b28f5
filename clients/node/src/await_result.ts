import { unlessAborted } from './bell.js'
import { rowsOf, type Database } from './database.js'
import { milliseconds, type Duration } from './duration.js'
import { STRETCH, STRETCH_WITH_SIGNAL } from './fixed.js'
import { toId, type JobId, type JobIdLike } from './id.js'

export interface AwaitOptions {
  /** One minute unless told otherwise. */
  timeout?: Duration | undefined
  /** Ends the waiting. The last call may go on in the server for another second. */
  signal?: AbortSignal | undefined
  /** Reads the result: JSON.parse unless told otherwise. */
  parse?: ((json: string) => unknown) | undefined
}

/** The job that was waited for has ended otherwise than by completing. */
export class JobFailed extends Error {
  override name = 'JobFailed'
  constructor(readonly id: JobId, readonly state: 'discarded' | 'cancelled', readonly errors: any) {
    super(`job ${id} is ${state}`)
  }
}

/** The job has not ended in time. */
export class TimedOut extends Error {
  override name = 'TimedOut'
  constructor(readonly id: JobId) {
    super(`job ${id} has not ended`)
  }
}

// The live job, if it was brought back after an end.
const STATE = `SELECT state::text AS state, result::text AS result, errors::text AS errors, finished_at IS NOT NULL AS has_ended
FROM turnstile.my_jobs WHERE id = $1::text::bigint ORDER BY finished_at DESC NULLS FIRST LIMIT 1`
const WAIT = 'CALL turnstile.wait_for_end($1::text::bigint, $2::text::interval)'

/**
 * Waits until a job has ended, and returns its result; undefined where it has none. It must not be inside a transaction, which would see
 * no end, and the caller must be one that may see the job. Errors: JobFailed, TimedOut, the reason of the signal, P0002 no such job.
 */
export async function awaitResult<R = any>(database: Database, id: JobIdLike, options: AwaitOptions = {}): Promise<R> {
  const { timeout = '1 minute', signal, parse = JSON.parse } = options
  const job = toId(id)
  const stretch = signal ? STRETCH_WITH_SIGNAL : STRETCH
  const until = performance.now() + milliseconds(timeout)
  for (;;) {
    signal?.throwIfAborted()
    const [row] = await rowsOf(database, STATE, [job])
    if (row?.['has_ended']) return resultOf(job, row, parse) as R
    const left = until - performance.now()
    if (left <= 0) throw new TimedOut(job)
    const slept = rowsOf(database, WAIT, [job, `${Math.ceil(Math.min(left, stretch))} milliseconds`])
    await (signal ? unlessAborted(slept, signal) : slept)
  }
}

function resultOf(id: JobId, row: Record<string, any>, parse: (json: string) => unknown): unknown {
  if (row['state'] !== 'completed') throw new JobFailed(id, row['state'], row['errors'] === null ? null : JSON.parse(row['errors']))
  return row['result'] === null ? undefined : parse(row['result'])
}
