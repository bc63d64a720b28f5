INSERT INTO pgboss.job (name, data, policy)
SELECT 'bench', %(payload)s::jsonb, 'standard'
FROM generate_series(%(first)s::int, %(last)s::int);
