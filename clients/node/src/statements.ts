/**
 * The SQL of the worker. Nothing relies on a session, and nothing is prepared by name, so all of it may go through PgBouncer in
 * transaction mode. An argument sets lock_timeout, which takes less to plan than WITH.
 */
import { LOCK_TIMEOUT } from './fixed.js'

const LIMITED = `CASE WHEN pg_catalog.set_config('lock_timeout', '${LOCK_TIMEOUT}', true) <> '' THEN $1::bigint[] END`
const IDS = `${LIMITED}, $2::int[]`

const COLUMNS = `id, attempt, queue, kind, payload, metadata, priority, tenant, account, session, max_attempts, attempts_left, children,
  pg_catalog.date_part('epoch', created_at) * 1000, pg_catalog.date_part('epoch', lease_expires_at - pg_catalog.clock_timestamp()) * 1000`

const seconds = (parameter: string) => `pg_catalog.make_interval(0, 0, 0, 0, 0, 0, ${parameter}::float8)`

export const CLAIM = `SELECT ${COLUMNS}
FROM turnstile.claim($1::text[], $2::int, $3::text, ${seconds('$4')}, $5::boolean, NULL)`

export const COMPLETE_AND_CLAIM = `SELECT ${COLUMNS}
FROM turnstile.complete_and_claim(${IDS}, $4::text[], $5::int, $6::text, ${seconds('$7')}, $8::boolean, NULL, $3::jsonb[])`

/** Unlike a claim that waits it holds no snapshot while it sleeps, which would keep vacuum from its work. */
export const SLEEP = `CALL turnstile.wait_for_job($1::text[], ${seconds('$2')})`

export const COMPLETE_MANY = `SELECT turnstile.complete_many(${IDS}, $3::jsonb[])`
export const FAIL_MANY = `SELECT turnstile.fail_many(${IDS}, $3::text[], $4::interval[], $5::boolean[], $6::text[])`
export const SNOOZE_MANY = `SELECT pg_catalog.count(turnstile.snooze(run.id, run.attempt, ${seconds('run.after')}))
FROM ROWS FROM (pg_catalog.unnest(${LIMITED}),
  pg_catalog.unnest($2::int[]), pg_catalog.unnest($3::float8[])) AS run (id, attempt, after)`
export const RELEASE_MANY = `SELECT pg_catalog.count(turnstile.release(run.id, run.attempt))
FROM ROWS FROM (pg_catalog.unnest(${LIMITED}),
  pg_catalog.unnest($2::int[])) AS run (id, attempt)`
export const AWAIT_CHILDREN = 'SELECT turnstile.await_children($1::bigint, $2::int)'
export const CHILDREN = `SELECT pg_catalog.count(*) FILTER (WHERE child.state = 'completed'),
  pg_catalog.count(*) FILTER (WHERE child.state = 'discarded'), pg_catalog.count(*) FILTER (WHERE child.state = 'cancelled')
FROM turnstile.batch_results($1::bigint) AS child`

export const HEARTBEAT_MANY = `SELECT status FROM turnstile.heartbeat_many(${IDS}, ${seconds('$3')}) ORDER BY ord`
export const PROGRESS = 'SELECT turnstile.progress($1::bigint, $2::int, $3::numeric, $4::numeric, $5::text)'

export const IS_READ_ONLY = `SELECT pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only')::boolean`
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'
