INSERT INTO turnstile_bench.deleted (payload)
SELECT %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int);
