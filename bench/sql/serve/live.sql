-- Jobs of these numbers that wait, each thirtieth for its time, each fortieth for another attempt.
INSERT INTO turnstile.job (
    id, queue, tenant, account, session, concurrency_key, kind, payload, run_at, state, attempt, worker, errors, created_at, parent
)
SELECT
    named.id, named.queue, named.tenant, named.account, named.session, named.concurrency_key, named.kind, named.payload,
    CASE WHEN kept.state <> 'available' THEN now() + interval '1 second' * (60 + named.id %% 86400) ELSE kept.created_at END, kept.state,
    CASE WHEN kept.state = 'retryable' THEN 1 ELSE 0 END, CASE WHEN kept.state = 'retryable' THEN 'worker-' || named.id %% 64 END,
    CASE WHEN kept.state = 'retryable' THEN jsonb_build_array(jsonb_build_object(
        'attempt', 1, 'at', kept.created_at, 'worker', 'worker-' || named.id %% 64, 'error', named.error
    )) END,
    kept.created_at, CASE WHEN named.id %% 20 = 3 AND named.id <= %(total)s::bigint THEN 1 + named.id / 20 %% 30 END
FROM turnstile_bench.named(%(first)s, %(last)s) AS named
CROSS JOIN LATERAL (
    SELECT
        CASE WHEN named.id %% 30 = 12 THEN 'scheduled' WHEN named.id %% 40 = 1 THEN 'retryable' ELSE 'available' END AS state,
        now() - interval '1 hour' * (1 - least(named.id::float8 / %(total)s::bigint, 1)) AS created_at
) AS kept
WHERE named.id > %(split)s::bigint AND (named.id %% 11 <> 0 OR named.id > %(total)s::bigint)
