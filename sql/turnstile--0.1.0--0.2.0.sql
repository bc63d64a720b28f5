-- Before anything else, and with nothing that is looked up by the search path.
SET LOCAL search_path = pg_catalog, pg_temp;
-- Claims find rows in heaps only.
SET LOCAL default_table_access_method = heap;

-- Which catalog this is. The library reads the body and serves only the versions that it knows (src/pg/served.rs). An upgrade
-- script begins with the same; scripts/upgrade-script writes that.
CREATE OR REPLACE FUNCTION turnstile.catalog_version() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    AS $$SELECT '0.2.0'$$;
COMMENT ON FUNCTION turnstile.catalog_version() IS
    'Returns the version of the extension''s objects in this database. version() has that of the library.';

-- A server that was not restarted since the library was replaced still has the one before.
DO $block$
BEGIN
    IF pg_catalog.string_to_array(pg_catalog.split_part(turnstile.version(), '-', 1), '.')::pg_catalog.int4[]
        < pg_catalog.string_to_array(pg_catalog.split_part(turnstile.catalog_version(), '-', 1), '.')::pg_catalog.int4[]
    THEN
        RAISE EXCEPTION 'the library of turnstile that is loaded is too old for this script' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('The library is version %s, the script is of version %s.',
                turnstile.version(), turnstile.catalog_version()),
            HINT = 'Restart the server, which then loads the library that is installed.';
    END IF;
END
$block$;

-- What users have granted, by name: a function whose arguments change, or a table that is built anew, is dropped with its grants.
-- In a setting of this transaction, since an object that a script makes belongs to the extension.
SELECT pg_catalog.set_config('turnstile_upgrade.grants', coalesce((
    SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_object(
        'kind', made.kind, 'object', made.object, 'name', made.name, 'part', made.part, 'privilege', acl.privilege_type,
        'grantee', acl.grantee, 'grantable', acl.is_grantable
    ))::text
    FROM (
        SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, rel.relname AS name, NULL::name AS part,
            rel.oid AS object, rel.relowner AS owner, rel.relacl AS acl
        FROM pg_catalog.pg_class AS rel WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace
        UNION ALL
        SELECT 'TABLE', rel.relname, att.attname, rel.oid, rel.relowner, att.attacl
        FROM pg_catalog.pg_attribute AS att JOIN pg_catalog.pg_class AS rel ON rel.oid = att.attrelid
        WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace AND NOT att.attisdropped
        UNION ALL
        SELECT 'ROUTINE', proc.proname, NULL, proc.oid, proc.proowner, proc.proacl
        FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace = 'turnstile'::pg_catalog.regnamespace
    ) AS made, pg_catalog.aclexplode(made.acl) AS acl
    WHERE acl.grantee <> made.owner
), '[]'), true);

-- ---- What changes --------------------------------------------------------------------------------

-- Why a job waits, and when it will start. Said by what the next claim would do, at a cost that does not grow with the jobs.

CREATE FUNCTION turnstile.why_waiting(job_id bigint)
    RETURNS TABLE (
        ord int, reason text, gate text, name text, running int, slots int, opens_at timestamptz, holder bigint, detail text
    )
    LANGUAGE c VOLATILE ROWS 5
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting';
COMMENT ON FUNCTION turnstile.why_waiting(bigint) IS
    'Says why a waiting job does not start: every reason, one row each. No row: the next claim of one job from its queue takes it. Reasons: scheduled, retry (run_at is ahead); paused, full, rate (its gate is closed); session_busy, session_order; unique_running; behind (the next claim takes another job); locked (an open transaction has claimed, changed or locked it); no_worker (no claim from the queue in the last minute, and nobody sleeps on it); outside_memory (its lane is left to the tables, and gets its turn). The figures are those of this moment. The caller needs the permission see or manage on the queue and tenant of the job.
job_id: a job that is available, scheduled or retryable.
Returns: ord; reason; gate: queue, tenant, account, session, concurrency or unique, with its name; running and slots of a full gate; opens_at: when time alone opens it (NULL: it does not); holder: the job that is in the way, if one is: it runs in the session, has the unique key, or comes before (NULL where it is not found, or the caller may not know of it); detail: a sentence.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';

CREATE FUNCTION turnstile.why_waiting_summary(queue text DEFAULT NULL, tenant text DEFAULT NULL)
    RETURNS TABLE (reason text, gate text, lanes bigint, is_estimate boolean)
    LANGUAGE c VOLATILE ROWS 10
    AS 'MODULE_PATHNAME', 'turnstile_why_waiting_summary';
COMMENT ON FUNCTION turnstile.why_waiting_summary(text, text) IS
    'Counts the lanes that wait, by reason: a lane is the jobs that share queue, tenant, account, session, keys and priority. A lane that several gates hold up counts at each; one that could start counts as behind. Jobs that are scheduled or retryable are in no lane. It looks at 10,000 lanes at most; of more, each stands for several.
queue: NULL or * stands for all.
tenant: NULL stands for all, and for jobs without a tenant.
Returns: the reason as in why_waiting (a gate without slots counts as paused), the gate, the number of lanes, and whether that is an estimate.
Errors: 22023; 54000; 09000; 25006.';

CREATE FUNCTION turnstile.wait_estimate(job_id bigint)
    RETURNS TABLE (ahead bigint, is_capped boolean, starts_per_minute numeric, bottleneck text, starts_at timestamptz)
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_wait_estimate';
COMMENT ON FUNCTION turnstile.wait_estimate(bigint) IS
    'Estimates when a waiting job starts: at the gate that takes longest to let through what comes before it, at its pace of the last minutes. It supposes that what comes later takes no place in front of it, and that the pace stays. The caller needs the permission see or manage on the queue and tenant of the job.
job_id: a job that is available, scheduled or retryable.
Returns: ahead: jobs that start before it at that gate, exact in its lane, an estimate across lanes, at most 10,000; is_capped: there are more; starts_per_minute: how many start behind the gate (NULL: none); bottleneck: that gate, as gate in why_waiting; starts_at: NULL where nothing moves.
Errors: 22004; P0002; 55000 the job runs or has ended, with its state in DETAIL; 42501; 09000; 25006.';

-- Ended jobs, for who follows them.

CREATE FUNCTION turnstile.recent(since text DEFAULT NULL, max_rows int DEFAULT 1000)
    RETURNS TABLE (
        id bigint, queue text, kind text, tenant text, state text, attempt int, worker text,
        created_at timestamptz, claimed_at timestamptz, finished_at timestamptz, error text, cursor text
    )
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_recent';
COMMENT ON FUNCTION turnstile.recent(text, int) IS
    'Gives jobs that ended, as tail -f does: call it again and again, each time with the cursor of the last row that was given. Each ended job comes once, soon after the commit of the transaction that ended it, whatever the order of commits; what the transaction of the caller has ended comes after its commit. No row: nothing has ended since; keep the cursor. The caller needs the permission manage or see on all queues and tenants.
since: the cursor of a row: what comes after it. NULL: the last ten jobs that ended. oldest: all that the history has. Where NULL gives no row, the history is empty: go on with oldest.
max_rows: 1 to 100,000. The next call goes on where it ends.
Returns: the job as it is in job_history; error: what the last failed attempt said, unless the job was completed (NULL for a caller that may only manage); cursor: the place behind the row, for the next call. The jobs of one reading come in order of finished_at and id; one whose transaction was committed later comes with a later reading.
Errors: 22004; 22023 a bad value, or a cursor of another database, or of transactions that this server has lost; 42501; 25006.';

-- Views for operators: the settings in force for every name that has a row, jobs or statistics, next to live figures.
--
-- Figures are in memory, and change with each commit: a query reads as many of them as it shows, however many jobs there are. The
-- first query after the memory was lost counts the jobs.

CREATE FUNCTION turnstile.figures(gate text)
    RETURNS TABLE (
        tenant text, name text, waiting bigint, scheduled bigint, retryable bigint, running bigint, starting bigint,
        waiting_since timestamptz, claimed_per_minute bigint, finished_per_minute bigint, stats_reset timestamptz,
        enqueued bigint, started bigint, completed bigint, failed bigint, retried bigint, discarded bigint, cancelled bigint,
        rescued bigint,
        wait_ms bigint[], wait_ms_sum float8, wait_ms_p50 float8, wait_ms_p95 float8, wait_ms_p99 float8,
        run_ms bigint[], run_ms_sum float8, run_ms_p50 float8, run_ms_p95 float8, run_ms_p99 float8
    )
    LANGUAGE c STABLE ROWS 1000
    AS 'MODULE_PATHNAME', 'turnstile_figures';
COMMENT ON FUNCTION turnstile.figures(text) IS
    'For the views of figures: what is in memory of the queues, tenants, accounts or concurrency keys with jobs or statistics. Where memory cannot be used (on a standby, where this transaction has rewritten turnstile.job, or where turnstile.max_memory leaves no room for all names) the jobs are counted.
gate: queue, tenant, account or concurrency.
Errors: 22004; 22023; 42501.';

CREATE FUNCTION turnstile.histogram_bounds() RETURNS bigint[]
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_histogram_bounds';
COMMENT ON FUNCTION turnstile.histogram_bounds() IS
    'Returns the upper bounds of the buckets of wait_ms and run_ms, in milliseconds. The last bucket has none.';

CREATE OR REPLACE VIEW turnstile.queues AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile.figures('queue')
), known AS (
    SELECT live.name FROM live
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
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.max_running - least(coalesce(live.running + live.starting, 0), setting.max_running)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting
FROM known
LEFT JOIN LATERAL (
    SELECT queue.*
    FROM turnstile.queue
    WHERE queue.name IN (known.name, '*')
    ORDER BY queue.name = '*'
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

CREATE OR REPLACE VIEW turnstile.tenants AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile.figures('tenant')
), known AS (
    SELECT live.name FROM live
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
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting
FROM known
LEFT JOIN LATERAL (
    SELECT tenant.*
    FROM turnstile.tenant
    WHERE tenant.name IN (known.name, '*')
    ORDER BY tenant.name = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name;
COMMENT ON VIEW turnstile.tenants IS
    'The settings in force and live figures of every tenant that has a row, live jobs or statistics; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE OR REPLACE VIEW turnstile.accounts AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile.figures('account')
), known AS (
    SELECT live.tenant, live.name FROM live
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
    CASE
        WHEN setting.paused OR setting.paused_until > clock_timestamp() THEN 0
        ELSE setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots)
    END AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting
FROM known
LEFT JOIN LATERAL (
    SELECT account.*
    FROM turnstile.account
    WHERE account.tenant IN (known.tenant, '*') AND account.name IN (known.name, '*')
        AND (account.tenant = known.tenant OR account.name = '*')
    ORDER BY account.name = '*', account.tenant = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.name AND live.tenant = known.tenant;
COMMENT ON VIEW turnstile.accounts IS
    'The settings in force and live figures of every account that has a row or live jobs, or had some in the last minute; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

CREATE OR REPLACE VIEW turnstile.concurrency_keys AS
WITH live AS MATERIALIZED (
    SELECT * FROM turnstile.figures('concurrency')
), known AS (
    SELECT live.name AS key FROM live
    UNION
    SELECT concurrency.key FROM turnstile.concurrency WHERE concurrency.key <> '*'
)
SELECT
    known.key, setting.slots, setting.rate, setting.rate_per, setting.burst,
    coalesce(live.waiting, 0) AS waiting,
    coalesce(live.scheduled, 0) AS scheduled,
    coalesce(live.retryable, 0) AS retryable,
    coalesce(live.running, 0) AS running,
    setting.slots - least(coalesce(live.running + live.starting, 0), setting.slots) AS free,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    coalesce(live.claimed_per_minute, 0) AS claimed_per_minute,
    coalesce(live.finished_per_minute, 0) AS finished_per_minute,
    coalesce(live.starting, 0) AS starting
FROM known
LEFT JOIN LATERAL (
    SELECT concurrency.*
    FROM turnstile.concurrency
    WHERE concurrency.key IN (known.key, '*')
    ORDER BY concurrency.key = '*'
    LIMIT 1
) AS setting ON true
LEFT JOIN live ON live.name = known.key;
COMMENT ON VIEW turnstile.concurrency_keys IS
    'The settings in force and live figures of every concurrency key that has a row or live jobs, or had some in the last minute; columns as in queues. Figures are in memory: a query does not depend on how many jobs there are.';

-- Statistics since they were last reset.

CREATE FUNCTION turnstile.stat_reset() RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_stat_reset';
COMMENT ON FUNCTION turnstile.stat_reset() IS
    'Sets the statistics of all queues and tenants to zero, at once: a rollback does not bring them back. Numbers of jobs stay.
Errors: 42501; 25006.';

CREATE VIEW turnstile.stat_queue AS
SELECT
    live.name, live.enqueued, live.started, live.completed, live.failed, live.retried, live.discarded, live.cancelled, live.rescued,
    live.waiting, live.scheduled, live.retryable, live.running,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    live.wait_ms, live.wait_ms_sum, live.wait_ms_p50, live.wait_ms_p95, live.wait_ms_p99,
    live.run_ms, live.run_ms_sum, live.run_ms_p50, live.run_ms_p95, live.run_ms_p99,
    live.stats_reset
FROM turnstile.figures('queue') AS live
WHERE live.enqueued IS NOT NULL;
COMMENT ON VIEW turnstile.stat_queue IS
    'What has become of the jobs of each queue since stats_reset, counted when transactions commit, and how long they have waited and run. It is in memory, and kept over a clean restart of the server: a crash or a failover sets it to zero. Up to 1,000 queues have statistics; where there are more, those that are less active and have no row lose theirs.';
COMMENT ON COLUMN turnstile.stat_queue.enqueued IS 'Jobs added, also by a retry of one that had ended.';
COMMENT ON COLUMN turnstile.stat_queue.started IS 'Runs that started.';
COMMENT ON COLUMN turnstile.stat_queue.completed IS 'Jobs that were completed.';
COMMENT ON COLUMN turnstile.stat_queue.failed IS 'Runs that failed, as their workers said, whatever followed.';
COMMENT ON COLUMN turnstile.stat_queue.retried IS 'Runs that failed or were rescued, and after which the job waits for another attempt.';
COMMENT ON COLUMN turnstile.stat_queue.discarded IS 'Jobs that were discarded: no attempt was left, or a call has said so.';
COMMENT ON COLUMN turnstile.stat_queue.cancelled IS 'Jobs that were cancelled.';
COMMENT ON COLUMN turnstile.stat_queue.rescued IS 'Runs that were ended because their lease or their connection had.';
COMMENT ON COLUMN turnstile.stat_queue.oldest_waiting IS 'As in queues.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms IS
    'How long jobs were due before they started: how many per bucket of histogram_bounds().';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p50 IS 'The median in milliseconds, as if the values of a bucket were spread evenly.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p95 IS 'What 95 of 100 have not passed, likewise.';
COMMENT ON COLUMN turnstile.stat_queue.wait_ms_p99 IS 'What 99 of 100 have not passed, likewise.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms IS 'How long runs lasted, whatever ended them, as wait_ms.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_sum IS 'The sum, in milliseconds.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p50 IS 'The median, as wait_ms_p50.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p95 IS 'As wait_ms_p95.';
COMMENT ON COLUMN turnstile.stat_queue.run_ms_p99 IS 'As wait_ms_p99.';
COMMENT ON COLUMN turnstile.stat_queue.stats_reset IS 'When counting began: with the first change of a job after memory was lost or the extension made, or by stat_reset().';

CREATE VIEW turnstile.stat_tenant AS
SELECT
    live.name, live.enqueued, live.started, live.completed, live.failed, live.retried, live.discarded, live.cancelled, live.rescued,
    live.waiting, live.scheduled, live.retryable, live.running,
    statement_timestamp() - live.waiting_since AS oldest_waiting,
    live.wait_ms, live.wait_ms_sum, live.wait_ms_p50, live.wait_ms_p95, live.wait_ms_p99,
    live.run_ms, live.run_ms_sum, live.run_ms_p50, live.run_ms_p95, live.run_ms_p99,
    live.stats_reset
FROM turnstile.figures('tenant') AS live
WHERE live.enqueued IS NOT NULL;
COMMENT ON VIEW turnstile.stat_tenant IS
    'As stat_queue, by tenant. Up to 1,000 tenants have statistics; where there are more, those that are less active and have no row lose theirs.';

-- Who claims.

CREATE FUNCTION turnstile.workers_seen()
    RETURNS TABLE (
        worker text, queue text, first_seen timestamptz, last_seen timestamptz, claims bigint, jobs bigint
    )
    LANGUAGE c STABLE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_workers_seen';
COMMENT ON FUNCTION turnstile.workers_seen() IS
    'For the view workers: the workers that memory knows, the one seen last first.
Errors: 42501.';

CREATE VIEW turnstile.workers AS
SELECT seen.worker, seen.queue, seen.first_seen, seen.last_seen, seen.claims, seen.jobs
FROM turnstile.workers_seen() AS seen;
COMMENT ON VIEW turnstile.workers IS
    'Who claims: the workers that claims have named, the 1,000 that were seen last. It is in memory: a restart and a crash empty it. Claims count whether they find something or not, and whether they are committed or not.';
COMMENT ON COLUMN turnstile.workers.worker IS
    'The name that claims gave as worker, its first 127 bytes. NULL stands for all claims that gave none.';
COMMENT ON COLUMN turnstile.workers.queue IS
    'The queue in which the last claim looked last, of those that it named; * stands for all. NULL: not known any more.';
COMMENT ON COLUMN turnstile.workers.first_seen IS 'When a claim first gave the name, since memory knows it.';
COMMENT ON COLUMN turnstile.workers.last_seen IS
    'When a claim last gave the name. A claim that waits counts when it begins, and each time it looks again.';
COMMENT ON COLUMN turnstile.workers.claims IS 'Calls that claimed, also those that found nothing.';
COMMENT ON COLUMN turnstile.workers.jobs IS 'Jobs that they took.';

-- The figures as OpenMetrics names them: a row a sample.

CREATE FUNCTION turnstile.samples_of_histogram(counts bigint[], sum_ms float8)
    RETURNS TABLE (suffix text, le text, value float8)
    LANGUAGE sql STABLE ROWS 32
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT '_bucket', coalesce((bounds.ms / 1000.0)::float8::text, '+Inf'),
        sum(buckets.count) OVER (ORDER BY buckets.number)::float8
    FROM unnest(samples_of_histogram.counts) WITH ORDINALITY AS buckets (count, number)
    LEFT JOIN unnest(turnstile.histogram_bounds()) WITH ORDINALITY AS bounds (ms, number) ON bounds.number = buckets.number
    UNION ALL
    SELECT '_count', NULL, sum(count)::float8 FROM unnest(samples_of_histogram.counts) AS count
    UNION ALL
    SELECT '_sum', NULL, samples_of_histogram.sum_ms / 1000
$function$;
COMMENT ON FUNCTION turnstile.samples_of_histogram(bigint[], float8) IS
    'For the view metrics: the samples of a histogram in seconds, of its buckets and its sum in milliseconds.';

CREATE VIEW turnstile.metrics AS
WITH by_queue AS MATERIALIZED (
    SELECT * FROM turnstile.stat_queue
), by_tenant AS MATERIALIZED (
    SELECT * FROM turnstile.stat_tenant
), queues AS MATERIALIZED (
    SELECT * FROM turnstile.queues
), samples AS (
    SELECT 'turnstile_queue_' || gauges.name AS name, 'turnstile_queue_' || gauges.name AS family,
        jsonb_build_object('queue', queues.name) AS labels, gauges.value
    FROM queues
    CROSS JOIN LATERAL (VALUES
        ('waiting', queues.waiting::float8), ('scheduled', queues.scheduled::float8), ('retryable', queues.retryable::float8),
        ('running', queues.running::float8), ('max_running', queues.max_running::float8), ('free', CASE WHEN queues.max_running IS NOT NULL THEN queues.free END::float8),
        ('oldest_waiting_seconds', extract(epoch FROM coalesce(queues.oldest_waiting, '0'))::float8),
        ('paused', (queues.paused OR coalesce(queues.paused_until > clock_timestamp(), false))::int::float8)
    ) AS gauges (name, value)
    UNION ALL
    -- Counters begin with zero, so that the first event counts.
    SELECT 'turnstile_queue_' || counts.event || '_total', 'turnstile_queue_' || counts.event || '_total',
        jsonb_build_object('queue', queues.name), coalesce(counts.number, 0)::float8
    FROM queues
    LEFT JOIN by_queue ON by_queue.name = queues.name
    CROSS JOIN LATERAL (VALUES
        ('enqueued', by_queue.enqueued), ('started', by_queue.started), ('completed', by_queue.completed), ('failed', by_queue.failed),
        ('retried', by_queue.retried), ('discarded', by_queue.discarded), ('cancelled', by_queue.cancelled),
        ('rescued', by_queue.rescued)
    ) AS counts (event, number)
    UNION ALL
    SELECT histograms.family || sample.suffix, histograms.family,
        jsonb_strip_nulls(jsonb_build_object('queue', by_queue.name, 'le', sample.le)), sample.value
    FROM by_queue
    CROSS JOIN LATERAL (VALUES
        ('turnstile_queue_wait_seconds', by_queue.wait_ms, by_queue.wait_ms_sum),
        ('turnstile_queue_run_seconds', by_queue.run_ms, by_queue.run_ms_sum)
    ) AS histograms (family, counts, sum_ms)
    CROSS JOIN LATERAL turnstile.samples_of_histogram(histograms.counts, histograms.sum_ms) AS sample
    UNION ALL
    SELECT 'turnstile_tenant_' || figures.name, 'turnstile_tenant_' || figures.name,
        jsonb_build_object('tenant', by_tenant.name), figures.value
    FROM by_tenant
    CROSS JOIN LATERAL (VALUES
        ('waiting', by_tenant.waiting::float8), ('running', by_tenant.running::float8),
        ('oldest_waiting_seconds', extract(epoch FROM coalesce(by_tenant.oldest_waiting, '0'))::float8),
        ('enqueued_total', by_tenant.enqueued::float8), ('started_total', by_tenant.started::float8),
        ('completed_total', by_tenant.completed::float8), ('failed_total', by_tenant.failed::float8)
    ) AS figures (name, value)
    UNION ALL
    SELECT 'turnstile_memory_' || gauges.name, 'turnstile_memory_' || gauges.name, jsonb_build_object('database', memory.database),
        gauges.value::float8
    FROM turnstile.memory
    CROSS JOIN LATERAL (VALUES
        ('bytes', memory.bytes), ('lanes', memory.lanes), ('lanes_outside', memory.lanes_outside)
    ) AS gauges (name, value)
    UNION ALL
    SELECT 'turnstile_memory_limit_bytes', 'turnstile_memory_limit_bytes', '{}', max(memory.bytes_limit)::float8
    FROM turnstile.memory
    UNION ALL
    SELECT 'turnstile_history_ahead_seconds', 'turnstile_history_ahead_seconds', '{}',
        extract(epoch FROM max(history_partition.ends) - clock_timestamp())::float8
    FROM turnstile.history_partition
    UNION ALL
    SELECT 'turnstile_stats_reset_timestamp_seconds', 'turnstile_stats_reset_timestamp_seconds', '{}',
        extract(epoch FROM min(by_queue.stats_reset))::float8
    FROM by_queue
), families (name, type, help) AS (
    VALUES
    ('turnstile_queue_waiting', 'gauge', 'Jobs of the queue that are available.'),
    ('turnstile_queue_scheduled', 'gauge', 'Jobs of the queue that wait for their time.'),
    ('turnstile_queue_retryable', 'gauge', 'Jobs of the queue that wait for another attempt.'),
    ('turnstile_queue_running', 'gauge', 'Jobs of the queue that run.'),
    ('turnstile_queue_max_running', 'gauge', 'How many jobs of the queue may run at once, missing where there is no limit.'),
    ('turnstile_queue_free', 'gauge', 'How many more jobs of the queue may start now, missing where there is no limit.'),
    ('turnstile_queue_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of the queue has been due.'),
    ('turnstile_queue_paused', 'gauge', 'Whether the queue is paused, 1 or 0.'),
    ('turnstile_queue_enqueued_total', 'counter', 'Jobs added to the queue.'),
    ('turnstile_queue_started_total', 'counter', 'Runs of the queue that started.'),
    ('turnstile_queue_completed_total', 'counter', 'Jobs of the queue that were completed.'),
    ('turnstile_queue_failed_total', 'counter', 'Runs of the queue that failed.'),
    ('turnstile_queue_retried_total', 'counter', 'Runs of the queue after which the job waits for another attempt.'),
    ('turnstile_queue_discarded_total', 'counter', 'Jobs of the queue that were discarded.'),
    ('turnstile_queue_cancelled_total', 'counter', 'Jobs of the queue that were cancelled.'),
    ('turnstile_queue_rescued_total', 'counter', 'Runs of the queue that were ended because their lease or their connection had.'),
    ('turnstile_queue_wait_seconds', 'histogram', 'How long jobs of the queue were due before they started.'),
    ('turnstile_queue_run_seconds', 'histogram', 'How long runs of the queue lasted.'),
    ('turnstile_tenant_waiting', 'gauge', 'Jobs of the tenant that are available.'),
    ('turnstile_tenant_running', 'gauge', 'Jobs of the tenant that run.'),
    ('turnstile_tenant_oldest_waiting_seconds', 'gauge', 'How long the first of the waiting jobs of the tenant has been due.'),
    ('turnstile_tenant_enqueued_total', 'counter', 'Jobs added for the tenant.'),
    ('turnstile_tenant_started_total', 'counter', 'Runs of the tenant that started.'),
    ('turnstile_tenant_completed_total', 'counter', 'Jobs of the tenant that were completed.'),
    ('turnstile_tenant_failed_total', 'counter', 'Runs of the tenant that failed.'),
    ('turnstile_memory_bytes', 'gauge', 'Shared memory that the scheduler of the database has.'),
    ('turnstile_memory_lanes', 'gauge', 'Lanes of the database with waiting jobs.'),
    ('turnstile_memory_lanes_outside', 'gauge', 'Lanes of the database that found no room in memory.'),
    ('turnstile_memory_limit_bytes', 'gauge', 'Shared memory that the schedulers of all databases may have.'),
    ('turnstile_history_ahead_seconds', 'gauge', 'For how long there are partitions of the history, less than seven days where maintain() does not run.'),
    ('turnstile_stats_reset_timestamp_seconds', 'gauge', 'When the counting of events began.')
)
SELECT samples.name, families.type, families.help, samples.labels, samples.value
FROM samples
JOIN families ON families.name = samples.family
WHERE samples.value IS NOT NULL;
COMMENT ON VIEW turnstile.metrics IS
    'Figures by the names and units of OpenMetrics, a row a sample. It reads memory, not jobs.';
COMMENT ON COLUMN turnstile.metrics.name IS 'The name of the sample. A histogram has samples with _bucket, _sum and _count behind its name.';
COMMENT ON COLUMN turnstile.metrics.type IS 'gauge, counter or histogram.';
COMMENT ON COLUMN turnstile.metrics.help IS 'What it means.';
COMMENT ON COLUMN turnstile.metrics.labels IS 'Its labels.';
COMMENT ON COLUMN turnstile.metrics.value IS 'Its value now.';
-- What allow_tenant(), allow_operator() and allow_monitor() grant from now on.

CREATE OR REPLACE FUNCTION turnstile.rights_of(kind text) RETURNS TABLE (privileges text, object text)
    LANGUAGE sql IMMUTABLE ROWS 40
    SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT listed.privileges, object
    FROM (VALUES
        ('producer', 'EXECUTE', ARRAY['enqueue', 'enqueue_many', 'route_of']),
        ('worker', 'EXECUTE', ARRAY[
            'claim_next', 'claim', 'complete', 'complete_many', 'complete_and_claim_next', 'fail', 'release', 'snooze',
            'heartbeat', 'progress', 'wait_for_job', 'listen_channel'
        ]),
        ('tenant', 'EXECUTE', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many',
            'why_waiting', 'wait_estimate'
        ]),
        ('tenant', 'SELECT', ARRAY['my_jobs']),
        ('operator', 'EXECUTE', ARRAY[
            'cancel', 'discard', 'retry', 'reprioritize', 'cancel_many', 'discard_many', 'retry_many',
            'set_queue', 'set_tenant', 'set_account', 'set_concurrency',
            'pause_queue', 'resume_queue', 'pause_tenant', 'resume_tenant', 'pause_account', 'resume_account',
            'pause_session', 'resume_session',
            'set_route', 'drop_route', 'route_of', 'reroute', 'why_waiting', 'why_waiting_summary', 'wait_estimate', 'recent',
            'rescue', 'promote', 'check', 'rebuild', 'maintain', 'prune_unique_keys', 'make_history_partitions',
            'enable_cron', 'disable_cron', 'version',
            'memory_use', 'figures', 'workers_seen', 'histogram_bounds', 'samples_of_histogram', 'stat_reset', 'check_permission', 'check_name', 'check_clear', 'changed_setting', 'refuse_setting', 'gate_key', 'session_gate'
        ]),
        ('operator', 'SELECT', ARRAY[
            'job_status', 'queues', 'tenants', 'accounts', 'concurrency_keys', 'stat_queue', 'stat_tenant', 'workers', 'metrics', 'memory', 'permissions',
            'history_partition'
        ]),
        ('operator', 'SELECT, INSERT, UPDATE, DELETE', ARRAY[
            'queue', 'tenant', 'account', 'concurrency', 'paused_session', 'route'
        ]),
        ('monitor', 'EXECUTE', ARRAY[
            'memory_use', 'figures', 'workers_seen', 'histogram_bounds', 'samples_of_histogram', 'why_waiting_summary'
        ]),
        ('monitor', 'SELECT', ARRAY[
            'queues', 'tenants', 'accounts', 'concurrency_keys', 'stat_queue', 'stat_tenant', 'workers', 'metrics', 'memory', 'history_partition'
        ])
    ) AS listed (kind, privileges, objects)
    CROSS JOIN LATERAL pg_catalog.unnest(listed.objects) AS object
    WHERE listed.kind = rights_of.kind
$function$;
COMMENT ON FUNCTION turnstile.allow_tenant(regrole, text[]) IS
    'Allows a role to see the jobs of some tenants (the view my_jobs), to cancel, discard, retry and reprioritize them, and to ask why they wait, in addition to what it may do already. Uses the rights of the caller.
role: the role, with all its members.
tenants: * stands for all.
Errors: 22004; 22023; 42501; 54000.';
COMMENT ON FUNCTION turnstile.allow_monitor(regrole) IS
    'Allows a role to read the figures: the views queues, tenants, accounts, concurrency_keys, stat_queue, stat_tenant, workers, metrics, memory and history_partition, and why_waiting_summary. Uses the rights of the caller.
role: the role, with all its members. pg_monitor is a good argument.
Errors: 22004; 42501.';

-- Those who read views of figures need the function that they are made of.
SELECT pg_catalog.set_config('turnstile_upgrade.grants', (
    SELECT coalesce(pg_catalog.jsonb_agg(DISTINCT made.granted), '[]')::text
    FROM (
        SELECT granted
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        UNION ALL
        SELECT granted || pg_catalog.jsonb_build_object(
            'kind', 'ROUTINE', 'object', NULL, 'name', 'figures', 'part', NULL, 'privilege', 'EXECUTE', 'grantable', false)
        FROM pg_catalog.jsonb_array_elements(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb) AS granted
        WHERE granted ->> 'kind' = 'TABLE' AND granted ->> 'privilege' = 'SELECT'
            AND granted ->> 'name' IN ('queues', 'tenants', 'accounts', 'concurrency_keys')
    ) AS made
), true);

-- maintain() leaves foreign tables to who attached them.
CREATE OR REPLACE FUNCTION turnstile.thin_history() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
AS $function$
DECLARE
    looked_blocks constant int := 8192;
    deleted_blocks constant int := 1024;
    ranges constant int := 8;
    pass record;
    affected bigint;
    deleted bigint := 0;
    failed oid[] := '{}';
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT part.partition, part.ends, rule.policy, pg_catalog.pg_stat_get_tuples_inserted(part.partition) AS inserted
        FROM turnstile.history_partition AS part
        JOIN pg_class AS rel ON rel.oid = part.partition AND rel.relkind <> 'f'
        CROSS JOIN LATERAL turnstile.history_policy(part.ends) AS rule
        WHERE rule.some_over AND NOT rule.all_over
    ), gone AS (
        DELETE FROM turnstile.history_pass
        WHERE NOT EXISTS (SELECT FROM wanted WHERE wanted.partition = history_pass.partition)
    )
    INSERT INTO turnstile.history_pass AS known (partition, policy, looking, rows_inserted)
    SELECT wanted.partition, wanted.policy, wanted.ends IS NOT NULL, wanted.inserted
    FROM wanted
    ON CONFLICT ON CONSTRAINT history_pass_pkey DO UPDATE
    SET policy = excluded.policy, looking = excluded.looking, next_block = 0, finished = false,
        rows_inserted = excluded.rows_inserted
    WHERE known.policy <> excluded.policy OR known.looking AND known.rows_inserted <> excluded.rows_inserted;

    FOR _ IN 1 .. ranges LOOP
        SELECT * INTO pass FROM turnstile.history_pass
        WHERE NOT finished AND partition <> ALL (failed) ORDER BY partition LIMIT 1;
        EXIT WHEN NOT FOUND;
        BEGIN
            affected := turnstile.read_history(
                pass.partition, pass.next_block, CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END, pass.looking
            );
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                RAISE;
            WHEN OTHERS THEN
                RAISE WARNING 'could not thin partition %: %', pass.partition, SQLERRM
                    USING ERRCODE = SQLSTATE, HINT = 'Other partitions are thinned. The next run tries this one again.';
                failed := failed || pass.partition::oid;
                CONTINUE;
        END;
        IF pass.looking AND affected > 0 THEN
            pass.looking := false;
            pass.next_block := 0;
        ELSE
            deleted := deleted + affected;
            pass.next_block := pass.next_block + CASE WHEN pass.looking THEN looked_blocks ELSE deleted_blocks END;
            pass.finished := pass.next_block * pg_catalog.current_setting('block_size')::bigint
                >= pg_catalog.pg_relation_size(pass.partition);
        END IF;
        UPDATE turnstile.history_pass
        SET looking = pass.looking, next_block = pass.next_block, finished = pass.finished
        WHERE history_pass.partition = pass.partition;
    END LOOP;
    RETURN deleted;
END
$function$;

CREATE OR REPLACE FUNCTION turnstile.drop_history() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET lock_timeout = '50ms'
AS $function$
DECLARE
    most constant int := 10;
    day regclass;
    dropped bigint := 0;
    in_use text;
BEGIN
    FOR day IN
        SELECT part.partition
        FROM turnstile.history_partition AS part
        JOIN pg_class AS rel ON rel.oid = part.partition AND rel.relkind <> 'f'
        CROSS JOIN LATERAL turnstile.history_policy(part.ends) AS rule
        WHERE rule.all_over OR EXISTS (
            SELECT FROM turnstile.history_pass
            WHERE history_pass.partition = part.partition AND history_pass.policy = rule.policy
                AND looking AND finished
                AND rows_inserted = pg_catalog.pg_stat_get_tuples_inserted(part.partition)
        )
        ORDER BY part.ends
        LIMIT most
    LOOP
        BEGIN
            PERFORM turnstile.lock_history(day);
            EXECUTE pg_catalog.format('DROP TABLE %s', day);
            dropped := dropped + 1;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN
                in_use := SQLERRM;
            WHEN OTHERS THEN
                RAISE WARNING 'could not drop partition %: %', day, SQLERRM
                    USING ERRCODE = SQLSTATE, HINT = 'If objects depend on the partition, drop them first.';
        END;
    END LOOP;
    IF dropped = 0 AND in_use IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '55P03', MESSAGE = in_use;
    END IF;
    RETURN dropped;
END
$function$;

-- What this script has made belongs to who runs it, who may be another than the owner of the extension. Functions work with the
-- rights of their owner, and the owner of the extension grants EXECUTE on them. What was there before has initial privileges.
DO $block$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT 'TABLE' AS kind, rel.oid::pg_catalog.regclass::text AS name, dep.classid AS class, rel.oid AS object, rel.relowner AS owner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_class AS rel ON dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND rel.oid = dep.objid
        WHERE dep.deptype = 'e' AND rel.relnamespace = 'turnstile'::pg_catalog.regnamespace AND rel.relkind IN ('r', 'p', 'v', 'S')
            AND NOT EXISTS (
                -- A sequence of a column goes with its table.
                SELECT FROM pg_catalog.pg_depend AS of
                WHERE of.classid = dep.classid AND of.objid = rel.oid AND of.refobjsubid > 0 AND of.deptype IN ('a', 'i')
                    AND rel.relkind = 'S'
            )
        UNION ALL
        SELECT 'ROUTINE', proc.oid::pg_catalog.regprocedure::text, dep.classid, proc.oid, proc.proowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_proc AS proc ON dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND proc.oid = dep.objid
        WHERE dep.deptype = 'e' AND proc.pronamespace = 'turnstile'::pg_catalog.regnamespace
        UNION ALL
        SELECT 'TYPE', typ.oid::pg_catalog.regtype::text, dep.classid, typ.oid, typ.typowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_type AS typ ON dep.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND typ.oid = dep.objid
        WHERE dep.deptype = 'e' AND typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND (typ.typtype <> 'b' OR typ.typcategory <> 'A')
            -- Newer servers count the row type of a table in, which goes with it.
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = typ.typrelid AND rel.relkind <> 'c')
    LOOP
        IF made.owner = (SELECT me.oid FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user) AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_init_privs AS initial WHERE initial.classoid = made.class AND initial.objoid = made.object
        ) THEN
            EXECUTE pg_catalog.format('ALTER %s %s OWNER TO %s', made.kind, made.name, (
                SELECT ext.extowner::pg_catalog.regrole::text FROM pg_catalog.pg_extension AS ext WHERE ext.extname = 'turnstile'
            ));
        END IF;
    END LOOP;
END
$block$;

-- Nothing is granted to PUBLIC: an administrator grants EXECUTE to producers and workers. Only what this script has made has no
-- initial privileges yet. On the rest a user may have granted something, which a REVOKE here would turn into initial privileges,
-- and those are not in a dump. Rows are types, too: a column of such a type in a table of another role would keep the extension
-- from being dropped.
DO $block$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT 'SCHEMA' AS kind, 'turnstile' AS name, 'pg_catalog.pg_namespace'::pg_catalog.regclass AS class,
            'turnstile'::pg_catalog.regnamespace::oid AS object
        UNION ALL
        SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, rel.oid::pg_catalog.regclass::text, dep.classid, rel.oid
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_class AS rel ON dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND rel.oid = dep.objid
        JOIN pg_catalog.pg_extension AS ext ON dep.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND ext.oid = dep.refobjid
        WHERE ext.extname = 'turnstile' AND rel.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL
        SELECT 'ROUTINE', proc.oid::pg_catalog.regprocedure::text, dep.classid, proc.oid
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_proc AS proc ON dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND proc.oid = dep.objid
        JOIN pg_catalog.pg_extension AS ext ON dep.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND ext.oid = dep.refobjid
        WHERE ext.extname = 'turnstile'
        UNION ALL
        SELECT 'TYPE', typ.oid::pg_catalog.regtype::text, 'pg_catalog.pg_type'::pg_catalog.regclass, typ.oid
        FROM pg_catalog.pg_type AS typ
        WHERE typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND typ.typtype = 'c' AND (
            EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = typ.typrelid AND rel.relispartition)
            OR EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.deptype = 'e' AND (
                    (dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND dep.objid = typ.typrelid)
                    OR (dep.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND dep.objid = typ.oid)
                )
            )
        )
    LOOP
        IF NOT EXISTS (
            SELECT FROM pg_catalog.pg_init_privs AS initial WHERE initial.classoid = made.class AND initial.objoid = made.object
        ) THEN
            EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM PUBLIC', made.kind, made.name);
        END IF;
    END LOOP;
END
$block$;

-- Users' grants on what was made anew under its name. They are not the extension's own: without the last three statements a
-- dump would leave them out.
DO $block$
DECLARE
    lost record;
BEGIN
    FOR lost IN
        SELECT DISTINCT known.kind, known.part, known.privilege, known.grantable, made.class, made.object, made.name, made.owner,
            CASE known.grantee WHEN 0 THEN 'PUBLIC' ELSE known.grantee::pg_catalog.regrole::text END AS role
        FROM pg_catalog.jsonb_to_recordset(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb)
            AS known (kind text, object oid, name name, part name, privilege text, grantee oid, grantable boolean)
        JOIN (
            SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, rel.relname AS key,
                'pg_catalog.pg_class'::pg_catalog.regclass AS class, rel.oid AS object, rel.oid::pg_catalog.regclass::text AS name,
                rel.relowner AS owner, rel.relacl AS acl
            FROM pg_catalog.pg_class AS rel WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace
            UNION ALL
            SELECT 'ROUTINE', proc.proname, 'pg_catalog.pg_proc'::pg_catalog.regclass, proc.oid,
                proc.oid::pg_catalog.regprocedure::text, proc.proowner, proc.proacl
            FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace = 'turnstile'::pg_catalog.regnamespace AND EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND dep.objid = proc.oid AND dep.deptype = 'e'
            )
        ) AS made ON made.kind = known.kind AND made.key = known.name
        LEFT JOIN pg_catalog.pg_attribute AS att ON made.kind = 'TABLE' AND att.attrelid = made.object AND att.attname = known.part
        -- What is still there has its grants, and may be a user's function that only shares the name.
        WHERE (known.object = made.object OR NOT CASE known.kind
                WHEN 'ROUTINE' THEN EXISTS (SELECT FROM pg_catalog.pg_proc AS proc WHERE proc.oid = known.object)
                ELSE EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = known.object)
            END)
            AND (known.part IS NULL OR att.attname IS NOT NULL) AND NOT EXISTS (
            SELECT FROM pg_catalog.aclexplode(CASE WHEN known.part IS NULL THEN made.acl ELSE att.attacl END) AS acl
            WHERE acl.grantee = known.grantee AND acl.privilege_type = known.privilege AND acl.is_grantable >= known.grantable
        )
    LOOP
        EXECUTE pg_catalog.format('GRANT %s%s ON %s %s TO %s%s', lost.privilege, ' (' || pg_catalog.quote_ident(lost.part) || ')',
            lost.kind, lost.name, lost.role, CASE WHEN lost.grantable THEN ' WITH GRANT OPTION' END);
        DELETE FROM pg_catalog.pg_init_privs AS initial
        WHERE initial.classoid = lost.class AND initial.objoid = lost.object
            AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(initial.initprivs) AS acl WHERE acl.grantee = lost.owner);
        UPDATE pg_catalog.pg_init_privs AS initial SET initprivs = ARRAY(
            SELECT item FROM pg_catalog.unnest(initial.initprivs) AS item
            WHERE NOT EXISTS (SELECT FROM pg_catalog.aclexplode(ARRAY[item]) AS acl WHERE acl.grantee <> lost.owner)
        )
        WHERE initial.classoid = lost.class AND initial.objoid = lost.object;
        DELETE FROM pg_catalog.pg_shdepend AS dep
        WHERE dep.deptype = 'i' AND dep.classid = lost.class AND dep.objid = lost.object AND dep.refobjid <> lost.owner
            AND dep.dbid = (SELECT base.oid FROM pg_catalog.pg_database AS base WHERE base.datname = pg_catalog.current_database());
    END LOOP;
END
$block$;
