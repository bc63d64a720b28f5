-- Recurring jobs, jobs that come after others, paused names, and a viewer of each kind.
DO $$
BEGIN
    INSERT INTO turnstile.recurring (name, cron, kind, queue, last_firing)
    SELECT 'nightly-' || number, number || ' 3 * * *', 'make_report', 'report', date_trunc('minute', now()) FROM generate_series(1, 20) AS number;
    PERFORM turnstile.enqueue('archive', queue => 'cleanup', after => ARRAY[1, 2], after_any_end => true);
    PERFORM turnstile.enqueue('archive', queue => 'cleanup', after => ARRAY[1, 2, 3, 4], after_hold => number % 2 = 0) FROM generate_series(1, 30) AS number;
    PERFORM turnstile.pause_tenant('tenant-0013', until => now() + interval '1 hour');
    IF to_regrole('turnstile_bench_monitor') IS NULL THEN
        CREATE ROLE turnstile_bench_monitor LOGIN;
        CREATE ROLE turnstile_bench_operator LOGIN;
        CREATE ROLE turnstile_bench_tenant LOGIN;
        CREATE ROLE turnstile_bench_support LOGIN;
    END IF;
    PERFORM turnstile.allow_monitor('turnstile_bench_monitor');
    PERFORM turnstile.allow_operator('turnstile_bench_operator');
    PERFORM turnstile.allow_tenant('turnstile_bench_tenant', '{tenant-0002}');
    PERFORM turnstile.allow_operator('turnstile_bench_support');
    PERFORM turnstile.allow_tenant('turnstile_bench_support', '{*}');
END
$$
