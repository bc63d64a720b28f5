INSERT INTO pgboss.job (name, data, policy, singleton_key, created_on)
SELECT 'strict', %(payload)s::jsonb, 'key_strict_fifo', 'long', now() - interval '1 hour'
FROM generate_series(1, %(jobs)s::int);
