INSERT INTO turnstile.job (kind, payload)
SELECT 'bench', %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int);
