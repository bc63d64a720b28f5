-- The jobs of these numbers ended in the last seven days, in order, apart from those that are live.
INSERT INTO turnstile.job_history (
    id, lane, lane_group, position, priority, run_at, state, holds_session, queue, tenant, account, session, concurrency_key, kind,
    attempt, max_attempts, uncounted, payload, worker, claimed_at, errors, metadata, created_at, finished_at, result, parent
)
SELECT
    named.id, 0, 0, named.id, 0, times.created_at, ended.state, false, named.queue, named.tenant, named.account, named.session,
    named.concurrency_key, named.kind, CASE ended.state WHEN 'discarded' THEN 3 WHEN 'cancelled' THEN 0 ELSE 1 END, 3, 0, named.payload,
    'worker-' || named.id %% 64, CASE WHEN ended.state <> 'cancelled' THEN times.finished_at - interval '1 second' * (named.id %% 30) END,
    CASE WHEN ended.state = 'discarded' THEN (
        SELECT jsonb_agg(jsonb_build_object(
            'attempt', attempt, 'at', times.finished_at - interval '1 minute' * (3 - attempt), 'worker', 'worker-' || named.id %% 64,
            'error', named.error
        ) ORDER BY attempt)
        FROM generate_series(1, 3) AS attempt
    ) END,
    CASE WHEN named.id %% 10 = 3 THEN jsonb_build_object('trace', md5(named.id::text)) END, times.created_at, times.finished_at,
    CASE WHEN ended.state = 'completed' THEN jsonb_build_object('bytes', named.id * 37 %% 100000) END,
    CASE WHEN named.id %% 10 = 9 AND named.id > %(last)s::bigint / 2 THEN 1 + named.id / 10 %% 50 END
FROM turnstile_bench.named(%(first)s, %(last)s) AS named
CROSS JOIN LATERAL (
    SELECT CASE WHEN named.id %% 17 = 0 THEN 'discarded' WHEN named.id %% 29 = 0 THEN 'cancelled' ELSE 'completed' END AS state
) AS ended
CROSS JOIN LATERAL (
    SELECT now() - interval '7 days' * (1 - (named.id - 1)::float8 / %(total)s::bigint) AS finished_at
) AS finishes
CROSS JOIN LATERAL (
    SELECT finishes.finished_at, finishes.finished_at - interval '1 second' * (5 + named.id %% 600) AS created_at
) AS times
WHERE named.id > 100 AND (named.id <= %(split)s::bigint OR named.id %% 11 = 0)
