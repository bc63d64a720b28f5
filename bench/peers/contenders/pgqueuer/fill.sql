INSERT INTO pgqueuer (priority, entrypoint, payload, status)
SELECT 0, 'bench', convert_to(%(payload)s, 'UTF8'), 'queued'
FROM generate_series(%(first)s::int, %(last)s::int);
