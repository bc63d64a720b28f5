-- Partitions for the days before this one, as maintain() would have made them.
DO $$
DECLARE
    day date;
    made text;
BEGIN
    SET LOCAL timezone = 'UTC';
    FOR day IN SELECT (now() AT TIME ZONE 'UTC')::date - ago FROM generate_series(1, 7) AS ago LOOP
        made := 'turnstile.job_history_' || to_char(day, 'YYYYMMDD');
        CONTINUE WHEN to_regclass(made) IS NOT NULL;
        EXECUTE format(
            'CREATE TABLE %s PARTITION OF turnstile.job_history FOR VALUES FROM (%L) TO (%L)',
            made, day::timestamptz, (day + 1)::timestamptz
        );
        PERFORM turnstile_internal.finish_partition(made::regclass);
    END LOOP;
END
$$
