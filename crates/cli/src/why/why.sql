-- $1: the job.
SELECT pg_catalog.jsonb_build_object(
    'id', $1,
    'reasons', (
        SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(waiting) - 'ord' ORDER BY waiting.ord), '[]')
        FROM turnstile.why_waiting($1) AS waiting
    ),
    'estimate', (SELECT pg_catalog.to_jsonb(estimate) FROM turnstile.wait_estimate($1) AS estimate)
)
