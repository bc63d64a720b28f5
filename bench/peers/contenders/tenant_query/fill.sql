INSERT INTO job (payload)
SELECT %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int);
