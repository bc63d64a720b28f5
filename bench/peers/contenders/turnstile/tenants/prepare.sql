INSERT INTO turnstile.tenant (name, slots)
SELECT 'open-' || number, 1000 FROM generate_series(0, current_setting('bench.open')::int - 1) AS number;

INSERT INTO turnstile.tenant (name, slots)
SELECT 'full-' || number, 1 FROM generate_series(1, current_setting('bench.full')::int) AS number;

INSERT INTO turnstile.job (kind, tenant, state, attempt, claimed_at, lease_expires_at)
SELECT 'bench', 'full-' || number, 'running', 1, now(), 'infinity'
FROM generate_series(1, current_setting('bench.full')::int) AS number;

INSERT INTO turnstile.job (kind, payload, tenant)
SELECT 'bench', %(payload)s::jsonb, 'full-' || 1 + mod(number, current_setting('bench.full')::int)
FROM generate_series(1, CASE WHEN current_setting('bench.full')::int = 0 THEN 0 ELSE %(jobs)s::int END) AS number;
