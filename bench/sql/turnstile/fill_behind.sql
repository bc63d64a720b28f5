INSERT INTO turnstile.job (queue, kind, payload, tenant, session, priority)
SELECT %(queue)s::text, 'bench', '{}', %(tenant)s::text, 'session-' || number, 10
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
