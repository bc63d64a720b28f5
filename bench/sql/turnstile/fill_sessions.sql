INSERT INTO turnstile.job (kind, tenant, session)
SELECT 'bench', 'tenant-' || number %% 50, 'session-' || number %% 1000
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
