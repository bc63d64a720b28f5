-- Goes on with the tenant after that of the last job, so that tenants take turns however often it is filled up.
INSERT INTO turnstile.job (kind, payload, tenant)
SELECT 'bench', %(payload)s::jsonb, 'tenant-' || mod(last.id + number, current_setting('bench.tenants')::int)
FROM (SELECT coalesce(max(id), 0) AS id FROM turnstile.job) AS last,
    generate_series(1, %(last)s::int - %(first)s::int + 1) AS number
ORDER BY number;
