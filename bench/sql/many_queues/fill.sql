INSERT INTO turnstile.job (queue, kind, payload, priority)
SELECT %(prefix)s::text || mod(number, %(queues)s::int), 'bench', %(payload)s::jsonb, %(priority)s::int
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
