INSERT INTO pgboss.job (name, data, policy, group_id, group_tier, state, started_on)
SELECT 'bench', '{}', 'standard', 'full-' || number, 'full', 'active', now()
FROM generate_series(1, current_setting('bench.full')::int) AS number;

INSERT INTO pgboss.job (name, data, policy, group_id, group_tier, created_on)
SELECT
    'bench', %(payload)s::jsonb, 'standard',
    'full-' || 1 + mod(number, current_setting('bench.full')::int), 'full', now() - interval '1 hour'
FROM generate_series(1, CASE WHEN current_setting('bench.full')::int = 0 THEN 0 ELSE %(jobs)s::int END) AS number;
