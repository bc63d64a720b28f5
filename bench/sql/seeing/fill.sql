-- However many jobs there are, they have 20 queues, 200 tenants, 1,000 accounts, 500 keys and 1,000 sessions, in 1,000 lanes.
INSERT INTO turnstile.job (queue, kind, tenant, account, concurrency_key, session, run_at)
SELECT
    'queue-' || number %% 20, 'bench', 'tenant-' || number %% 200, 'account-' || number / 200 %% 5, 'key-' || number %% 500,
    'session-' || number %% 1000,
    CASE WHEN number %% 1000 BETWEEN 1 AND 50 THEN now() + interval '1 day' ELSE now() END
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
