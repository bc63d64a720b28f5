-- Finished jobs, partitioned by day of finished_at (UTC).

CREATE TABLE turnstile.job_history (
    LIKE turnstile.job INCLUDING COMMENTS,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    result jsonb
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE turnstile.job_history IS 'Finished jobs: completed, cancelled or discarded.';
COMMENT ON COLUMN turnstile.job_history.result IS 'What the worker passed to complete.';

-- Each partition has an index of its own: one of the parent would be made for a partition that a dump
-- attaches, before the dump makes it by the same name.
CREATE TABLE turnstile.job_history_default PARTITION OF turnstile.job_history DEFAULT;
CREATE INDEX job_history_default_id_idx ON turnstile.job_history_default (id);
CREATE INDEX job_history_default_finished_at_idx ON turnstile.job_history_default
    USING brin (finished_at) WITH (autosummarize = on);
-- An index that is made of an empty table has a summary of its first pages, which each row would have to change.
SELECT pg_catalog.brin_desummarize_range('turnstile.job_history_default_finished_at_idx', 0);
COMMENT ON TABLE turnstile.job_history_default IS 'Catches finished jobs of a day whose partition was not made ahead.';
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_history_default', '');

CREATE VIEW turnstile.history_partition AS
    SELECT
        inhrelid::pg_catalog.regclass AS partition,
        bounds[1]::timestamptz AS begins,
        bounds[2]::timestamptz AS ends,
        greatest(reltuples, 0)::bigint AS estimated_rows,
        pg_catalog.pg_total_relation_size(inhrelid) AS bytes
    FROM pg_catalog.pg_inherits
    JOIN pg_catalog.pg_class ON pg_class.oid = inhrelid
    CROSS JOIN LATERAL pg_catalog.regexp_match(
        pg_catalog.pg_get_expr(relpartbound, inhrelid), $$FROM \('([^']+)'\) TO \('([^']+)'\)$$
    ) AS bounds
    WHERE inhparent = 'turnstile.job_history'::pg_catalog.regclass;
COMMENT ON VIEW turnstile.history_partition IS
    'The partitions of job_history: the time that each holds (NULL for the default one), and its size.';

-- Whatever changes the set of partitions needs strong locks for an instant, and who waits for such a lock
-- stops all that come after. So it waits 50 ms at most, and not at all for a transaction that is older than
-- a second: a dump, a report, a worker that finishes jobs in a long transaction.
CREATE FUNCTION turnstile.lock_history(dropping regclass DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET lock_timeout = '50ms'
AS $function$
DECLARE
    tries int := 3;
    is_held boolean;
BEGIN
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_locks
        LEFT JOIN pg_catalog.pg_stat_activity USING (pid)
        WHERE pg_locks.relation IN (
                'turnstile.job_history_default'::regclass,
                CASE WHEN dropping IS NOT NULL THEN 'turnstile.job_history'::regclass END, dropping
            )
            AND pg_locks.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
            AND pg_locks.granted AND pg_locks.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
            AND coalesce(xact_start < pg_catalog.clock_timestamp() - interval '1 second', true)
    ) INTO is_held;
    WHILE tries > 0 AND NOT is_held LOOP
        tries := tries - 1;
        BEGIN
            IF dropping IS NULL THEN
                LOCK TABLE ONLY turnstile.job_history IN SHARE UPDATE EXCLUSIVE MODE;
                LOCK TABLE ONLY turnstile.job_history_default IN ACCESS EXCLUSIVE MODE;
            ELSE
                LOCK TABLE ONLY turnstile.job_history IN ACCESS EXCLUSIVE MODE;
                LOCK TABLE ONLY turnstile.job_history_default IN ACCESS EXCLUSIVE MODE NOWAIT;
            END IF;
            RETURN;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            PERFORM pg_catalog.pg_sleep(0.02);
        END;
    END LOOP;
    RAISE EXCEPTION 'the history is in use' USING ERRCODE = '55P03',
        DETAIL = 'Another transaction holds a lock on turnstile.job_history or a partition, as a dump or a report does.',
        HINT = 'Call again later; maintain() does so with each run.';
END
$function$;
COMMENT ON FUNCTION turnstile.lock_history(regclass) IS
    'For maintain(): locks the history to attach a partition, or to drop the one given, without stalling others. Errors: 55P03 it is in use.';

CREATE FUNCTION turnstile.missing_history_days(days_ahead int) RETURNS date[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
AS $function$
    SELECT pg_catalog.array_agg(day::date ORDER BY day)
    FROM pg_catalog.generate_series(
        pg_catalog.date_trunc('day', pg_catalog.now()), pg_catalog.now() + days_ahead * interval '1 day', interval '1 day'
    ) AS day
    WHERE pg_catalog.to_regclass('turnstile.job_history_' || pg_catalog.to_char(day, 'YYYYMMDD')) IS NULL
        AND NOT EXISTS (
            SELECT FROM turnstile.history_partition
            WHERE history_partition.begins < day + interval '1 day' AND history_partition.ends > day
        )
$function$;
COMMENT ON FUNCTION turnstile.missing_history_days(int) IS
    'For maintain(): the days (UTC) from today on for which job_history has no partition, or NULL.';

-- A partition is made as a table of its own and then attached: that lets jobs be finished meanwhile. Few
-- finished jobs that fell into the default partition on such a day are moved; with many the day stays there.
CREATE FUNCTION turnstile.make_history_partitions(days_ahead int DEFAULT 7) RETURNS int
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
AS $function$
DECLARE
    missing date[];
    crowded date[];
    day date;
    partition text;
    made int := 0;
BEGIN
    IF days_ahead IS NULL THEN
        RAISE EXCEPTION 'days_ahead must not be null' USING ERRCODE = '22004',
            DETAIL = 'The argument "days_ahead" is NULL.', HINT = 'Leave it out for a week.';
    END IF;
    IF days_ahead NOT BETWEEN 0 AND 366 THEN
        RAISE EXCEPTION 'days_ahead must be between 0 and 366' USING ERRCODE = '22023',
            DETAIL = pg_catalog.format('It is %s.', days_ahead), HINT = 'A week is plenty with a daily run.';
    END IF;
    missing := turnstile.missing_history_days(days_ahead);
    IF missing IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM turnstile.lock_history();
    crowded := ARRAY (
        SELECT finished_at::date FROM turnstile.job_history_default
        WHERE finished_at >= missing[1] GROUP BY 1 HAVING count(*) > 10000
    );
    FOREACH day IN ARRAY missing LOOP
        CONTINUE WHEN day = ANY (crowded);
        partition := 'job_history_' || pg_catalog.to_char(day, 'YYYYMMDD');
        -- DDL takes no parameters; names and bounds are quoted by format.
        EXECUTE pg_catalog.format(
            'CREATE TABLE turnstile.%1$I (LIKE turnstile.job_history INCLUDING DEFAULTS INCLUDING STORAGE);
             CREATE INDEX ON turnstile.%1$I (id);
             CREATE INDEX ON turnstile.%1$I USING brin (finished_at) WITH (autosummarize = on);
             WITH stray AS (
                 DELETE FROM turnstile.job_history_default WHERE finished_at >= %2$L AND finished_at < %3$L RETURNING *
             )
             INSERT INTO turnstile.%1$I SELECT * FROM stray;
             ALTER TABLE turnstile.job_history ATTACH PARTITION turnstile.%1$I FOR VALUES FROM (%2$L) TO (%3$L)',
            partition, day::timestamptz, (day + 1)::timestamptz
        );
        PERFORM pg_catalog.brin_desummarize_range(indexrelid, 0)
        FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = pg_catalog.to_regclass('turnstile.' || partition)
            AND relam = (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'brin');
        made := made + 1;
    END LOOP;
    RETURN made;
END
$function$;
COMMENT ON FUNCTION turnstile.make_history_partitions(int) IS
    'Makes the partitions of job_history for today and the days ahead that are missing; returns how many. A day with more than 10,000 jobs in the default partition stays there. Whoever finishes jobs into the default partition waits while it is read. Errors: 22004, 22023, 55P03 the history is in use.';

-- Partitions belong to the user, so that a dump carries them. A restore brings its own: pg_dump and
-- pg_restore switch row_security and check_function_bodies off, which no session does by default.
DO $block$
DECLARE
    partition regclass;
BEGIN
    IF current_setting('row_security') = 'off' AND current_setting('check_function_bodies') = 'off' THEN
        RETURN;
    END IF;
    PERFORM turnstile.make_history_partitions();
    FOR partition IN
        SELECT inhrelid FROM pg_catalog.pg_inherits
        WHERE inhparent = 'turnstile.job_history'::regclass
            AND inhrelid <> 'turnstile.job_history_default'::regclass
    LOOP
        EXECUTE pg_catalog.format('ALTER EXTENSION turnstile DROP TABLE %s', partition);
    END LOOP;
END
$block$;

CREATE VIEW turnstile.jobs AS
    SELECT
        job.*,
        job.created_at AS queued_at,
        job.claimed_at AS started_at,
        CASE WHEN isfinite(job.run_at) AND isfinite(coalesce(job.claimed_at, job.finished_at, now()))
            THEN greatest(coalesce(job.claimed_at, job.finished_at, clock_timestamp()) - job.run_at, '0')
        END AS waiting,
        CASE WHEN isfinite(job.claimed_at) AND isfinite(coalesce(job.finished_at, now()))
            THEN coalesce(job.finished_at, clock_timestamp()) - job.claimed_at
        END AS running
    FROM (
        SELECT job.*, NULL::timestamptz AS finished_at, NULL::jsonb AS result FROM turnstile.job
        UNION ALL
        SELECT * FROM turnstile.job_history
    ) AS job;
COMMENT ON VIEW turnstile.jobs IS 'Live and finished jobs together; one that was brought back is there as both.';
COMMENT ON COLUMN turnstile.jobs.queued_at IS 'When it was enqueued.';
COMMENT ON COLUMN turnstile.jobs.started_at IS 'When its last run was claimed; NULL: it waits, or never ran.';
COMMENT ON COLUMN turnstile.jobs.waiting IS 'How long it waited since it was due (run_at) until its last run was claimed, or until now; NULL: one of the times is infinite.';
COMMENT ON COLUMN turnstile.jobs.running IS 'How long its last run took, or has taken so far; NULL: it waits, or never ran.';
