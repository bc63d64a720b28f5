INSERT INTO turnstile.job_history (
    id, lane, lane_group, position, priority, run_at, state, holds_session, queue, kind, attempt, max_attempts, uncounted, payload,
    worker, claimed_at, created_at, finished_at
)
SELECT
    -number, 0, 0, number, 0, at, 'completed', false, CASE WHEN number %% 100 = 0 THEN 'audit' ELSE 'default' END, 'bench', 1, 25,
    0, %(payload)s::jsonb, 'bench', at, at, at
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS number
CROSS JOIN (
    SELECT (date_trunc('day', now() AT TIME ZONE 'UTC') - interval '9 days 12 hours') AT TIME ZONE 'UTC' AS at
) AS noon
