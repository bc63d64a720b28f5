INSERT INTO turnstile.job (kind, payload, tenant)
SELECT 'bench', %(payload)s::jsonb, 'open-' || mod(number, current_setting('bench.open')::int)
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
