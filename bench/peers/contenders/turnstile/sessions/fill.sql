INSERT INTO turnstile.job (kind, payload, session)
SELECT 'bench', %(payload)s::jsonb, 'session-' || mod(number, current_setting('bench.sessions')::int)
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
