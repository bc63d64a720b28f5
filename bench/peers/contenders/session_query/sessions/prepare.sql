INSERT INTO job (session, payload)
SELECT 'long', %(payload)s::jsonb
FROM generate_series(1, %(jobs)s::int);
