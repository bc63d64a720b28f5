INSERT INTO turnstile_bench.filtered (queue, tenant, payload)
SELECT %(queue)s::text, %(tenant)s::text, %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int);
