INSERT INTO job (session, payload)
SELECT 'session-' || mod(number, current_setting('bench.sessions')::int), %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
