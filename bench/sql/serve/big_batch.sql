-- The batch 1 has this many ended children more.
INSERT INTO turnstile.job_history (
    id, lane, lane_group, position, priority, run_at, state, holds_session, queue, tenant, kind, attempt, max_attempts, uncounted, payload,
    worker, claimed_at, created_at, finished_at, parent
)
SELECT
    nextval('turnstile.job_id_seq'), 0, 0, number, 0, now() - interval '1 hour', CASE WHEN number %% 50 = 0 THEN 'discarded' ELSE 'completed' END,
    false, 'import', 'tenant-0001', 'import_row', 1, 25, 0, jsonb_build_object('row', number), 'worker-1', now() - interval '1 hour',
    now() - interval '1 hour', now() - interval '1 hour' * (1 - number::float8 / %(children)s::bigint), 1
FROM generate_series(1::bigint, %(children)s) AS number
