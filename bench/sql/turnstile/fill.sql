INSERT INTO turnstile.job (queue, kind, payload, tenant, session)
SELECT
    %(queue)s::text,
    'bench',
    %(payload)s::jsonb,
    %(tenant)s::text,
    'session-' || mod(number, nullif(%(sessions)s::int, 0))
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
