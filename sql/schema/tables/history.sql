-- Finished jobs, partitioned by day of finished_at (UTC).

CREATE TABLE turnstile.job_history (
    LIKE turnstile.job INCLUDING COMMENTS,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    result jsonb
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE turnstile.job_history IS
    'Finished jobs: completed, cancelled or discarded. Partitioned by the day (UTC) of finished_at. Has the columns of job and those below.';
COMMENT ON COLUMN turnstile.job_history.finished_at IS 'When the job ended.';
COMMENT ON COLUMN turnstile.job_history.result IS 'What the worker passed to complete.';

-- Logical decoding needs to know the deleted row: a publication would keep maintain() from deleting any. Each
-- partition has a replica identity of its own; this one is for programs that look at the table.
ALTER TABLE turnstile.job_history REPLICA IDENTITY FULL;

-- A bound is printed as the session has it (DateStyle, TimeZone), and an abbreviation of a time zone says nothing
-- reliable: of the times that its digits may stand for, the one that is printed as the bound is it.
CREATE VIEW turnstile.history_partition AS
    SELECT
        inhrelid::pg_catalog.regclass AS partition,
        bounds.times[1] AS begins,
        bounds.times[2] AS ends,
        greatest(reltuples, 0)::bigint AS estimated_rows,
        pg_catalog.pg_total_relation_size(inhrelid) AS bytes
    FROM pg_catalog.pg_inherits
    JOIN pg_catalog.pg_class ON pg_class.oid = inhrelid
    CROSS JOIN LATERAL (
        SELECT pg_catalog.array_agg(coalesce((
            SELECT candidate.at
            FROM pg_catalog.unnest(ARRAY[0, -60, 60, -30, 30]) AS shift (minutes)
            CROSS JOIN LATERAL (SELECT
                pg_catalog.regexp_replace(bound.printed, $re$( ?[-+][0-9:]+| [A-Za-z]+)( BC)?$$re$, $re$\2$re$)::timestamp
                    AT TIME ZONE pg_catalog.current_setting('TimeZone')
                    + pg_catalog.make_interval(mins => shift.minutes)
            ) AS candidate (at)
            WHERE candidate.at::text = bound.printed
            LIMIT 1
        ), bound.printed::timestamptz) ORDER BY bound.number)
        FROM pg_catalog.regexp_match(
            pg_catalog.pg_get_expr(relpartbound, inhrelid), $$FROM \('([^']+)'\) TO \('([^']+)'\)$$
        ) AS both_bounds
        CROSS JOIN LATERAL pg_catalog.unnest(both_bounds) WITH ORDINALITY AS bound (printed, number)
    ) AS bounds (times)
    WHERE inhparent = 'turnstile.job_history'::pg_catalog.regclass;
COMMENT ON VIEW turnstile.history_partition IS
    'The partitions of job_history, with the time that each holds and its size.';
COMMENT ON COLUMN turnstile.history_partition.partition IS 'The partition.';
COMMENT ON COLUMN turnstile.history_partition.begins IS 'The first time that it holds. NULL: the default partition.';
COMMENT ON COLUMN turnstile.history_partition.ends IS
    'The time at which it ends, exclusive. NULL: the default partition.';
COMMENT ON COLUMN turnstile.history_partition.estimated_rows IS 'Rows as of the last ANALYZE or VACUUM.';
COMMENT ON COLUMN turnstile.history_partition.bytes IS 'Size on disk with indexes and TOAST, in bytes.';

CREATE VIEW turnstile.jobs AS
    SELECT
        job.id, job.lane, job.lane_group, job.position, job.priority, job.run_at, job.lease_expires_at, job.state,
        job.holds_session, job.queue, job.tenant, job.account, job.session, job.concurrency_key, job.unique_key,
        job.unique_mode, job.kind, job.attempt, job.max_attempts, job.uncounted, job.payload, job.worker,
        job.owner_pid, job.owner_started_at, job.claimed_at, job.cancel_requested_at, job.progress, job.errors,
        job.metadata, job.unique_until, job.created_at,
        job.finished_at, job.result,
        job.created_at AS queued_at,
        job.claimed_at AS started_at,
        CASE WHEN isfinite(job.run_at) AND isfinite(coalesce(job.claimed_at, job.finished_at, now()))
            THEN greatest(coalesce(job.claimed_at, job.finished_at, clock_timestamp()) - job.run_at, '0')
        END AS waiting,
        CASE WHEN isfinite(job.claimed_at) AND isfinite(coalesce(job.finished_at, now()))
            THEN coalesce(job.finished_at, clock_timestamp()) - job.claimed_at
        END AS running,
        job.parent, job.opens_batch, job.children, job.has_followers
    FROM (
        SELECT
            id, lane, lane_group, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant,
            account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted,
            payload, worker, owner_pid, owner_started_at, claimed_at, cancel_requested_at, progress, errors,
            metadata, unique_until, created_at,
            NULL::timestamptz AS finished_at, NULL::jsonb AS result, parent, opens_batch, children, has_followers
        FROM turnstile.job
        UNION ALL
        SELECT
            id, lane, lane_group, position, priority, run_at, lease_expires_at, state, holds_session, queue, tenant,
            account, session, concurrency_key, unique_key, unique_mode, kind, attempt, max_attempts, uncounted,
            payload, worker, owner_pid, owner_started_at, claimed_at, cancel_requested_at, progress, errors,
            metadata, unique_until, created_at,
            finished_at, result, parent, opens_batch, children, has_followers
        FROM turnstile.job_history
    ) AS job;
COMMENT ON VIEW turnstile.jobs IS
    'Live and finished jobs together. A finished job that was brought back is there as both.';
COMMENT ON COLUMN turnstile.jobs.queued_at IS 'When the job was enqueued.';
COMMENT ON COLUMN turnstile.jobs.started_at IS 'When its last run was claimed. NULL: it waits, or never ran.';
COMMENT ON COLUMN turnstile.jobs.waiting IS
    'How long it waited from run_at until its last run was claimed, or until now. NULL: one of the times is infinite.';
COMMENT ON COLUMN turnstile.jobs.running IS
    'How long its last run took, or has taken so far. NULL: it waits, or never ran.';
