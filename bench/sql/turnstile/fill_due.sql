INSERT INTO turnstile.job (queue, kind, payload, state, run_at)
SELECT %(queue)s::text, 'bench', %(payload)s::jsonb, 'scheduled', %(due)s::timestamptz
FROM generate_series(1, %(jobs)s::int);
