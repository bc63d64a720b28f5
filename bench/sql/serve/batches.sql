-- The jobs 1 to 50 are batches: 30 are live, each with a child from the beginning, or it would not stay so; 20 have ended.
DO $$
BEGIN
    INSERT INTO turnstile.job (id, queue, tenant, session, kind, state, payload, created_at)
    SELECT number, 'import', 'tenant-' || lpad(number::text, 4, '0'), CASE WHEN number % 7 = 0 THEN 'nightly' END, 'import_file', 'blocked',
        jsonb_build_object('file', 'orders-' || number || '.csv'), now() - interval '2 hours'
    FROM generate_series(1, 30) AS number;
    INSERT INTO turnstile.job (id, queue, tenant, kind, parent, run_at)
    SELECT 50 + number, 'import', 'tenant-' || lpad(number::text, 4, '0'), 'import_row', number, now() + interval '1 day'
    FROM generate_series(1, 30) AS number;
    INSERT INTO turnstile.job_history (
        id, lane, lane_group, position, priority, run_at, state, holds_session, queue, tenant, kind, attempt, max_attempts, uncounted,
        payload, worker, claimed_at, created_at, finished_at, children
    )
    SELECT
        number, 0, 0, number, 0, now() - interval '5 hours', CASE number % 10 WHEN 0 THEN 'discarded' ELSE 'completed' END, false,
        'import', 'tenant-' || lpad(number::text, 4, '0'), 'import_file', 1, 25, 0,
        jsonb_build_object('file', 'orders-' || number || '.csv'), 'worker-1', now() - interval '1 hour', now() - interval '5 hours',
        now() - interval '1 hour' + interval '1 minute' * (number - 50), jsonb_build_object('completed', 950, 'discarded', 40, 'cancelled', 10)
    FROM generate_series(31, 50) AS number;
    INSERT INTO turnstile.batch (id, slots, rate, max_failed, paused, on_end, opened_at)
    SELECT
        number, CASE WHEN number % 3 = 0 THEN 5 END, CASE WHEN number % 5 = 0 THEN 100 END, CASE WHEN number % 4 = 0 THEN 1000000 END,
        number = 9, (ARRAY['run', 'run_if_all_completed', 'complete'])[1 + number % 3], now() - interval '2 hours'
    FROM generate_series(1, 50) AS number;
END
$$
