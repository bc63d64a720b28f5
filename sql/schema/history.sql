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
COMMENT ON TABLE turnstile.job_history_default IS 'Catches finished jobs of a day whose partition was not made ahead.';
SELECT pg_catalog.pg_extension_config_dump('turnstile.job_history_default', '');

CREATE FUNCTION turnstile.make_history_partitions(days_ahead int DEFAULT 7) RETURNS int
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC'
AS $function$
DECLARE
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
    FOR day IN
        SELECT d::date FROM pg_catalog.generate_series(
            pg_catalog.clock_timestamp()::date, pg_catalog.clock_timestamp()::date + days_ahead, interval '1 day'
        ) AS d
    LOOP
        partition := 'job_history_' || pg_catalog.to_char(day, 'YYYYMMDD');
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_class
            WHERE relname = partition AND relnamespace = 'turnstile'::pg_catalog.regnamespace
        );
        -- DDL takes no parameters; names and bounds are quoted by format.
        EXECUTE pg_catalog.format(
            'CREATE TABLE turnstile.%I PARTITION OF turnstile.job_history FOR VALUES FROM (%L) TO (%L)',
            partition, day::timestamptz, (day + 1)::timestamptz
        );
        EXECUTE pg_catalog.format('CREATE INDEX ON turnstile.%I (id)', partition);
        made := made + 1;
    END LOOP;
    RETURN made;
END
$function$;
COMMENT ON FUNCTION turnstile.make_history_partitions(int) IS
    'Makes the partitions of job_history for today and the days ahead that are missing; returns how many. Errors: 22004, 22023.';

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
    SELECT job.*, NULL::timestamptz AS finished_at, NULL::jsonb AS result FROM turnstile.job
    UNION ALL
    SELECT * FROM turnstile.job_history;
COMMENT ON VIEW turnstile.jobs IS 'Live and finished jobs together.';
