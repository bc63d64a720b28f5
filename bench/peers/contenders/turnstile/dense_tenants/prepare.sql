INSERT INTO turnstile.tenant (name, slots)
SELECT 'tenant-' || number, 1000 FROM generate_series(0, current_setting('bench.tenants')::int - 1) AS number;
