INSERT INTO job (session, payload)
SELECT 'session-' || mod(number, 1000), %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
