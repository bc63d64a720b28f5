DO $$
DECLARE
    day date := (now() AT TIME ZONE 'UTC')::date - 10;
BEGIN
    SET LOCAL timezone = 'UTC';
    EXECUTE format(
        'CREATE TABLE IF NOT EXISTS turnstile.job_history_%s PARTITION OF turnstile.job_history FOR VALUES FROM (%L) TO (%L)',
        to_char(day, 'YYYYMMDD'), day::timestamptz, (day + 1)::timestamptz
    );
    EXECUTE format('CREATE INDEX ON turnstile.job_history_%s (id)', to_char(day, 'YYYYMMDD'));
END
$$
