-- Views for operators: the settings in force for every name that has a row or jobs, next to live figures.
--
-- Figures are counted from the tables, in one snapshot: a query reads all live jobs and the history of the last minute.
-- Jobs themselves pay nothing for it.

CREATE VIEW turnstile.queues AS
WITH live AS MATERIALIZED (
    SELECT
        job.queue AS name,
        count(*) FILTER (WHERE job.state = 'available') AS waiting,
        count(*) FILTER (WHERE job.state = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE job.state = 'retryable') AS retryable,
        count(*) FILTER (WHERE job.state = 'running') AS running,
        count(*) FILTER (WHERE job.state = 'running' AND job.claimed_at > statement_timestamp() - interval '1 minute')
            AS claimed,
        min(job.run_at) FILTER (WHERE job.state = 'available' AND isfinite(job.run_at)) AS waiting_since
    FROM turnstile.job
    GROUP BY 1
), ended AS MATERIALIZED (
    SELECT
        job_history.queue AS name,
        count(*) AS finished,
        count(*) FILTER (WHERE job_history.claimed_at > statement_timestamp() - interval '1 minute') AS claimed
    FROM turnstile.job_history
    WHERE job_history.finished_at > statement_timestamp() - interval '1 minute'
    GROUP BY 1
), known AS (
    SELECT live.name FROM live
    UNION
    SELECT ended.name FROM ended
    UNION
    SELECT queue.name FROM turnstile.queue WHERE queue.name <> '*'
)
SELECT
    known.name, setting.max_running, setting.max_waiting, coalesce(setting.paused, false) AS paused, setting.paused_until, setting.rate,
    setting.rate_per, setting.burst, setting.policy, setting.aging, setting.lease, setting.max_attempts,
    setting.retry_base, setting.retry_cap, setting.session_on_retry, setting.notify, setting.keep_completed, setting.keep_discarded,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0 ELSE setting.max_running - least(coalesce(live.running, 0), setting.max_running) END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed, 0) + coalesce(ended.claimed, 0) AS claimed_per_minute,
    coalesce(ended.finished, 0) AS finished_per_minute
FROM known
LEFT JOIN LATERAL (
    SELECT queue.*
    FROM turnstile.queue
    WHERE queue.name IN (known.name, '*')
    ORDER BY queue.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name
LEFT JOIN ended ON ended.name = known.name;
COMMENT ON VIEW turnstile.queues IS
    'The settings in force and live figures of every queue that has a row, live jobs, or jobs that ended in the last minute. Figures are counted from the tables: a query reads all live jobs and the last minute of history.';
COMMENT ON COLUMN turnstile.queues.waiting IS 'Available jobs: they start when there is room.';
COMMENT ON COLUMN turnstile.queues.scheduled IS 'Jobs with run_at ahead.';
COMMENT ON COLUMN turnstile.queues.retryable IS 'Failed jobs that wait for another attempt.';
COMMENT ON COLUMN turnstile.queues.running IS 'Jobs that run.';
COMMENT ON COLUMN turnstile.queues.free IS 'How many more may run at once. NULL: no limit; 0 while paused.';
COMMENT ON COLUMN turnstile.queues.oldest_waiting IS 'How long the first of the waiting jobs has been due.';
COMMENT ON COLUMN turnstile.queues.claimed_per_minute IS
    'Jobs claimed in the last minute, without runs that failed and wait for another attempt.';
COMMENT ON COLUMN turnstile.queues.finished_per_minute IS 'Jobs that ended in the last minute, in any way.';

CREATE VIEW turnstile.tenants AS
WITH live AS MATERIALIZED (
    SELECT
        job.tenant AS name,
        count(*) FILTER (WHERE job.state = 'available') AS waiting,
        count(*) FILTER (WHERE job.state = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE job.state = 'retryable') AS retryable,
        count(*) FILTER (WHERE job.state = 'running') AS running,
        count(*) FILTER (WHERE job.state = 'running' AND job.claimed_at > statement_timestamp() - interval '1 minute')
            AS claimed,
        min(job.run_at) FILTER (WHERE job.state = 'available' AND isfinite(job.run_at)) AS waiting_since
    FROM turnstile.job
    WHERE job.tenant IS NOT NULL
    GROUP BY 1
), ended AS MATERIALIZED (
    SELECT
        job_history.tenant AS name,
        count(*) AS finished,
        count(*) FILTER (WHERE job_history.claimed_at > statement_timestamp() - interval '1 minute') AS claimed
    FROM turnstile.job_history
    WHERE job_history.finished_at > statement_timestamp() - interval '1 minute'
        AND job_history.tenant IS NOT NULL
    GROUP BY 1
), known AS (
    SELECT live.name FROM live
    UNION
    SELECT ended.name FROM ended
    UNION
    SELECT tenant.name FROM turnstile.tenant WHERE tenant.name <> '*'
)
SELECT
    known.name, setting.slots, setting.max_waiting, coalesce(setting.weight, 1) AS weight,
    coalesce(setting.paused, false) AS paused, setting.paused_until, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0 ELSE setting.slots - least(coalesce(live.running, 0), setting.slots) END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed, 0) + coalesce(ended.claimed, 0) AS claimed_per_minute,
    coalesce(ended.finished, 0) AS finished_per_minute
FROM known
LEFT JOIN LATERAL (
    SELECT tenant.*
    FROM turnstile.tenant
    WHERE tenant.name IN (known.name, '*')
    ORDER BY tenant.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name
LEFT JOIN ended ON ended.name = known.name;
COMMENT ON VIEW turnstile.tenants IS
    'The settings in force and live figures of every tenant that has a row, live jobs, or jobs that ended in the last minute. Figures are counted from the tables: a query reads all live jobs and the last minute of history.';

CREATE VIEW turnstile.accounts AS
WITH live AS MATERIALIZED (
    SELECT
        job.tenant AS tenant, job.account AS name,
        count(*) FILTER (WHERE job.state = 'available') AS waiting,
        count(*) FILTER (WHERE job.state = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE job.state = 'retryable') AS retryable,
        count(*) FILTER (WHERE job.state = 'running') AS running,
        count(*) FILTER (WHERE job.state = 'running' AND job.claimed_at > statement_timestamp() - interval '1 minute')
            AS claimed,
        min(job.run_at) FILTER (WHERE job.state = 'available' AND isfinite(job.run_at)) AS waiting_since
    FROM turnstile.job
    WHERE job.account IS NOT NULL
    GROUP BY 1, 2
), ended AS MATERIALIZED (
    SELECT
        job_history.tenant AS tenant, job_history.account AS name,
        count(*) AS finished,
        count(*) FILTER (WHERE job_history.claimed_at > statement_timestamp() - interval '1 minute') AS claimed
    FROM turnstile.job_history
    WHERE job_history.finished_at > statement_timestamp() - interval '1 minute'
        AND job_history.account IS NOT NULL
    GROUP BY 1, 2
), known AS (
    SELECT live.tenant, live.name FROM live
    UNION
    SELECT ended.tenant, ended.name FROM ended
    UNION
    SELECT account.tenant, account.name FROM turnstile.account WHERE account.tenant <> '*' AND account.name <> '*'
)
SELECT
    known.tenant, known.name, setting.slots, coalesce(setting.paused, false) AS paused, setting.paused_until,
    setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    CASE WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0 ELSE setting.slots - least(coalesce(live.running, 0), setting.slots) END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed, 0) + coalesce(ended.claimed, 0) AS claimed_per_minute,
    coalesce(ended.finished, 0) AS finished_per_minute
FROM known
LEFT JOIN LATERAL (
    SELECT account.*
    FROM turnstile.account
    WHERE account.tenant IN (known.tenant, '*') AND account.name IN (known.name, '*')
        AND (account.tenant = known.tenant OR account.name = '*')
    ORDER BY account.name = '*', account.tenant = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.tenant IS NOT DISTINCT FROM known.tenant AND live.name = known.name
LEFT JOIN ended ON ended.tenant IS NOT DISTINCT FROM known.tenant AND ended.name = known.name;
COMMENT ON VIEW turnstile.accounts IS
    'The settings in force and live figures of every account that has a row, live jobs, or jobs that ended in the last minute. Figures are counted from the tables: a query reads all live jobs and the last minute of history.';

CREATE VIEW turnstile.concurrency_keys AS
WITH live AS MATERIALIZED (
    SELECT
        job.concurrency_key AS key,
        count(*) FILTER (WHERE job.state = 'available') AS waiting,
        count(*) FILTER (WHERE job.state = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE job.state = 'retryable') AS retryable,
        count(*) FILTER (WHERE job.state = 'running') AS running,
        count(*) FILTER (WHERE job.state = 'running' AND job.claimed_at > statement_timestamp() - interval '1 minute')
            AS claimed,
        min(job.run_at) FILTER (WHERE job.state = 'available' AND isfinite(job.run_at)) AS waiting_since
    FROM turnstile.job
    WHERE job.concurrency_key IS NOT NULL
    GROUP BY 1
), ended AS MATERIALIZED (
    SELECT
        job_history.concurrency_key AS key,
        count(*) AS finished,
        count(*) FILTER (WHERE job_history.claimed_at > statement_timestamp() - interval '1 minute') AS claimed
    FROM turnstile.job_history
    WHERE job_history.finished_at > statement_timestamp() - interval '1 minute'
        AND job_history.concurrency_key IS NOT NULL
    GROUP BY 1
), known AS (
    SELECT live.key FROM live
    UNION
    SELECT ended.key FROM ended
    UNION
    SELECT concurrency.key FROM turnstile.concurrency WHERE concurrency.key <> '*'
)
SELECT
    known.key, setting.slots, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    setting.slots - least(coalesce(live.running, 0), setting.slots) AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed, 0) + coalesce(ended.claimed, 0) AS claimed_per_minute,
    coalesce(ended.finished, 0) AS finished_per_minute
FROM known
LEFT JOIN LATERAL (
    SELECT concurrency.*
    FROM turnstile.concurrency
    WHERE concurrency.key IN (known.key, '*')
    ORDER BY concurrency.key = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.key = known.key
LEFT JOIN ended ON ended.key = known.key;
COMMENT ON VIEW turnstile.concurrency_keys IS
    'The settings in force and live figures of every concurrency key that has a row, live jobs, or jobs that ended in the last minute. Figures are counted from the tables: a query reads all live jobs and the last minute of history.';

CREATE FUNCTION turnstile.memory_use()
    RETURNS TABLE (database oid, lanes bigint, gates bigint, bytes bigint, bytes_limit bigint, lanes_outside bigint)
    LANGUAGE c STABLE
    AS 'MODULE_PATHNAME', 'turnstile_memory_use';
COMMENT ON FUNCTION turnstile.memory_use() IS
    'For the view memory: what the schedulers of all databases have in shared memory.';

CREATE VIEW turnstile.memory AS
SELECT database.datname AS database, used.lanes, used.gates, used.bytes, used.bytes_limit, used.lanes_outside
FROM turnstile.memory_use() AS used
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
