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
