-- Views for operators: the settings in force for every name that has a row, jobs or statistics, next to live figures.
--
-- Figures are in memory, and change with each commit: a query reads as many of them as it shows, however many jobs there are. The
-- first query after the memory was lost counts the jobs.

CREATE FUNCTION turnstile_internal.figures(gate text)
    RETURNS TABLE (
        tenant text, name text, waiting bigint, scheduled bigint, retryable bigint, running bigint, blocked bigint,
        starting bigint,
        waiting_since timestamptz, claimed_per_minute bigint, finished_per_minute bigint, stats_reset timestamptz,
        enqueued bigint, started bigint, completed bigint, failed bigint, retried bigint, discarded bigint, cancelled bigint,
        rescued bigint,
        wait_ms bigint[], wait_ms_sum float8, wait_ms_p50 float8, wait_ms_p95 float8, wait_ms_p99 float8,
        run_ms bigint[], run_ms_sum float8, run_ms_p50 float8, run_ms_p95 float8, run_ms_p99 float8,
        total_wait_ms bigint[], total_wait_ms_sum float8, total_wait_ms_p50 float8, total_wait_ms_p95 float8, total_wait_ms_p99 float8
    )
    LANGUAGE c STABLE ROWS 1000
    AS 'MODULE_PATHNAME', 'turnstile_figures';
COMMENT ON FUNCTION turnstile_internal.figures(text) IS
    'For the views of figures: what is in memory of the queues, tenants, accounts or concurrency keys with jobs or statistics. Where memory cannot be used (on a standby, where this transaction has rewritten turnstile.job, or where turnstile.max_memory leaves no room for all names) the jobs are counted.
gate: queue, tenant, account or concurrency.
Errors: 22004; 22023; 42501.';

CREATE FUNCTION turnstile.histogram_bounds() RETURNS bigint[]
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_histogram_bounds';
COMMENT ON FUNCTION turnstile.histogram_bounds() IS
    'Returns the upper bounds of the buckets of wait_ms, run_ms and total_wait_ms, in milliseconds. The last bucket has none.';

CREATE VIEW turnstile.queues AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('queue')
), known AS (
    SELECT live.name FROM live
    UNION
    SELECT queue.name FROM turnstile.queue WHERE queue.name <> '*'
)
SELECT
    known.name, setting.max_running, setting.max_waiting, setting.paused, setting.paused_until, setting.rate,
    setting.rate_per, setting.burst, setting.policy, setting.aging, setting.lease, setting.max_attempts,
    setting.retry_base, setting.retry_cap, setting.session_on_retry, setting.notify, setting.keep_completed, setting.keep_discarded,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.max_running - least(coalesce(live.running + live.starting, 0), setting.max_running)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked,
    setting.durable_claims
FROM known
LEFT JOIN LATERAL (
    SELECT force.*
    FROM turnstile.queue_in_force AS force
    WHERE force.name IN (known.name, '*')
    ORDER BY force.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name;
COMMENT ON VIEW turnstile.queues IS
    'The settings in force and live figures of every queue that has a row, live jobs or statistics. Figures are in memory: a query does not depend on how many jobs there are.';
COMMENT ON COLUMN turnstile.queues.waiting IS 'Available jobs: they start when there is room.';
COMMENT ON COLUMN turnstile.queues.scheduled IS 'Jobs with run_at ahead.';
COMMENT ON COLUMN turnstile.queues.retryable IS 'Failed jobs that wait for another attempt.';
COMMENT ON COLUMN turnstile.queues.running IS 'Jobs that run.';
COMMENT ON COLUMN turnstile.queues.free IS 'How many more may run at once, with those of open claims. NULL: no limit; 0 while paused.';
COMMENT ON COLUMN turnstile.queues.oldest_waiting IS
    'How long the first of the waiting jobs has been due: never less, and at most a quarter more where many wait.';
COMMENT ON COLUMN turnstile.queues.claimed_per_minute IS 'Jobs claimed in the last 60 to 70 seconds.';
COMMENT ON COLUMN turnstile.queues.finished_per_minute IS 'Jobs that ended in the last 60 to 70 seconds, in any way.';
COMMENT ON COLUMN turnstile.queues.starting IS 'Jobs for which open claims hold room.';
COMMENT ON COLUMN turnstile.queues.blocked IS 'Jobs that wait for others: for their children, or for those that they come after.';

CREATE VIEW turnstile.tenants AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('tenant')
), known AS (
    SELECT live.name FROM live
    UNION
    SELECT tenant.name FROM turnstile.tenant WHERE tenant.name <> '*'
)
SELECT
    known.name, setting.slots, setting.max_waiting, setting.weight,
    setting.paused, setting.paused_until, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked
FROM known
LEFT JOIN LATERAL (
    SELECT force.*
    FROM turnstile.tenant_in_force AS force
    WHERE force.name IN (known.name, '*')
    ORDER BY force.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name;
COMMENT ON VIEW turnstile.tenants IS
    'The settings in force and live figures of every tenant that has a row, live jobs or statistics; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE VIEW turnstile.accounts AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('account')
), known AS (
    SELECT live.tenant, live.name FROM live
    UNION
    SELECT account.tenant, account.name FROM turnstile.account WHERE account.tenant <> '*' AND account.name <> '*'
)
SELECT
    known.tenant, known.name, setting.slots, setting.paused, setting.paused_until,
    setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked
FROM known
LEFT JOIN LATERAL (
    SELECT force.*
    FROM turnstile.account_in_force AS force
    WHERE force.tenant IN (known.tenant, '*') AND force.name IN (known.name, '*')
        AND (force.tenant = known.tenant OR force.name = '*')
    ORDER BY force.name = '*', force.tenant = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name AND live.tenant = known.tenant;
COMMENT ON VIEW turnstile.accounts IS
    'The settings in force and live figures of every account that has a row or live jobs, or had some in the last minute; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE VIEW turnstile.concurrency_keys AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile_internal.figures('concurrency')
), known AS (
    SELECT live.name AS key FROM live
    UNION
    SELECT concurrency.key FROM turnstile.concurrency WHERE concurrency.key <> '*'
    UNION
    SELECT slowed_key.key FROM turnstile.slowed_key
)
SELECT
    known.key, force.slots, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE
        WHEN slowed.paused_until > clock_timestamp() THEN 0
        ELSE force.slots - least(coalesce(live.running + live.starting, 0), force.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting,
    coalesce(live.blocked, 0) AS blocked,
    slowed.paused_until, coalesce(slowed.one_at_a_time, false) AS one_at_a_time
FROM known
LEFT JOIN LATERAL (
    SELECT stated.*
    FROM turnstile.concurrency_in_force AS stated
    WHERE stated.key IN (known.key, '*')
    ORDER BY stated.key = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN turnstile.slowed_key AS slowed ON slowed.key = known.key
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN (SELECT bool_and(endpoint.paused) FROM turnstile.endpoint WHERE endpoint.concurrency_key = known.key) THEN 0
        WHEN slowed.one_at_a_time THEN least(setting.slots, 1)
        ELSE setting.slots
    END AS slots
) AS force
LEFT JOIN live ON live.name = known.key;
COMMENT ON VIEW turnstile.concurrency_keys IS
    'The settings in force and live figures of every concurrency key that has a row or live jobs, or had some in the last minute; columns as in queues. slots: 1 at most while one_at_a_time, and 0 while all endpoints of the key are paused. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE FUNCTION turnstile_internal.memory_use()
    RETURNS TABLE (database oid, lanes bigint, gates bigint, bytes bigint, bytes_limit bigint, lanes_outside bigint)
    LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'turnstile_memory_use';
COMMENT ON FUNCTION turnstile_internal.memory_use() IS
    'For the view memory: what the schedulers of all databases have in shared memory.';

CREATE VIEW turnstile.memory AS
SELECT database.datname AS database, used.lanes, used.gates, used.bytes, used.bytes_limit, used.lanes_outside
FROM turnstile_internal.memory_use() AS used
JOIN pg_catalog.pg_database AS database ON database.oid = used.database;
COMMENT ON VIEW turnstile.memory IS
    'What the scheduler of each database of the server has in shared memory. It reads no jobs.';
COMMENT ON COLUMN turnstile.memory.database IS 'The database.';
COMMENT ON COLUMN turnstile.memory.lanes IS
    'Lanes with waiting jobs: each is a queue, tenant, account, session, key and priority that jobs share.';
COMMENT ON COLUMN turnstile.memory.gates IS
    'Limits that lanes or running jobs pass through: queues, tenants, accounts, sessions, concurrency keys and unique keys.';
COMMENT ON COLUMN turnstile.memory.bytes IS 'Bytes that the database has. They grow with what waits, and are given back when it is gone.';
COMMENT ON COLUMN turnstile.memory.bytes_limit IS 'turnstile.max_memory in bytes: what all databases may have together.';
COMMENT ON COLUMN turnstile.memory.lanes_outside IS
    'Lanes with waiting jobs that found no room and are read from the tables in turn, as far as is known. 0: all lanes are in memory.';
