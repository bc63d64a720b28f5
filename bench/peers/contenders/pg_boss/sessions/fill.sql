INSERT INTO pgboss.job (name, data, policy, singleton_key)
SELECT 'strict', %(payload)s::jsonb, 'key_strict_fifo', 'session-' || mod(number, current_setting('bench.sessions')::int)
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
