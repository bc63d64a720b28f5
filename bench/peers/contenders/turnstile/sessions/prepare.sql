INSERT INTO turnstile.job (kind, payload, session)
SELECT 'bench', %(payload)s::jsonb, 'long'
FROM generate_series(1, %(jobs)s::int);
