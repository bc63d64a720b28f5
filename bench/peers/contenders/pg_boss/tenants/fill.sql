INSERT INTO pgboss.job (name, data, policy, group_id, group_tier)
SELECT 'bench', %(payload)s::jsonb, 'standard', 'open-' || mod(number, current_setting('bench.open')::int), 'open'
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
