-- What holds for the names of settings: a column that is NULL is inherited from the row *, and there from what is built in. All that
-- reads settings reads them here. For a name without a row the row * holds, which these views have even where the table has lost it.
--
-- A row * that is missing stands beside those of the table, not in a join, so that a gate, or a name, finds its row by an index, and once.

CREATE VIEW turnstile.queue_in_force AS
    SELECT
        own.name, own.gate, coalesce(own.paused, false) AS paused, own.paused_until,
        nullif(coalesce(own.max_running, star.max_running), -1) AS max_running,
        nullif(coalesce(own.max_waiting, star.max_waiting), -1) AS max_waiting,
        nullif(coalesce(own.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, star.burst, 1) AS burst,
        coalesce(own.policy, star.policy, 'fifo') AS policy,
        nullif(coalesce(own.aging, star.aging), '0') AS aging,
        coalesce(own.lease, star.lease, '5 minutes') AS lease,
        coalesce(own.max_attempts, star.max_attempts, 25) AS max_attempts,
        coalesce(own.retry_base, star.retry_base, '1 second') AS retry_base,
        coalesce(own.retry_cap, star.retry_cap, '1 day') AS retry_cap,
        coalesce(own.session_on_retry, star.session_on_retry, 'hold') AS session_on_retry,
        coalesce(own.notify, star.notify, true) AS notify,
        -- Without the row * nothing is let go: a restore brings that row after the history.
        nullif(coalesce(own.keep_completed, star.keep_completed, CASE WHEN star.name IS NOT NULL THEN interval '7 days' END), '-1 second')
            AS keep_completed,
        nullif(coalesce(own.keep_discarded, star.keep_discarded, CASE WHEN star.name IS NOT NULL THEN interval '7 days' END), '-1 second')
            AS keep_discarded,
        coalesce(own.durable_claims, star.durable_claims, true) AS durable_claims,
        greatest(own.rate_since, CASE WHEN own.rate IS NULL THEN star.rate_since END) AS rate_since
    FROM (
        SELECT
            queue.name, queue.gate, queue.paused, queue.paused_until, queue.max_running, queue.max_waiting, queue.rate,
            queue.rate_per, queue.burst, queue.policy, queue.aging, queue.lease, queue.max_attempts, queue.retry_base,
            queue.retry_cap, queue.session_on_retry, queue.notify, queue.keep_completed, queue.keep_discarded, queue.durable_claims,
            queue.rate_since
        FROM turnstile.queue
        UNION ALL
        SELECT '*', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.queue WHERE queue.name = '*')
    ) AS own
    LEFT JOIN turnstile.queue AS star ON star.name = '*';
COMMENT ON VIEW turnstile.queue_in_force IS
    'What holds for each queue with a row, and by the row * for those without one: columns as in turnstile.queue, with what is inherited. NULL: no limit, none, or forever. Without a row * nothing leaves the history.';

CREATE VIEW turnstile.tenant_in_force AS
    SELECT
        own.name, own.gate, coalesce(own.paused, false) AS paused, own.paused_until,
        nullif(coalesce(own.slots, star.slots), -1) AS slots,
        nullif(coalesce(own.max_waiting, star.max_waiting), -1) AS max_waiting,
        coalesce(own.weight, star.weight, 1) AS weight,
        nullif(coalesce(own.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, star.burst, 1) AS burst,
        greatest(own.rate_since, CASE WHEN own.rate IS NULL THEN star.rate_since END) AS rate_since
    FROM (
        SELECT
            tenant.name, tenant.gate, tenant.paused, tenant.paused_until, tenant.slots, tenant.max_waiting, tenant.weight,
            tenant.rate, tenant.rate_per, tenant.burst, tenant.rate_since
        FROM turnstile.tenant
        UNION ALL
        SELECT '*', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.tenant WHERE tenant.name = '*')
    ) AS own
    LEFT JOIN turnstile.tenant AS star ON star.name = '*';
COMMENT ON VIEW turnstile.tenant_in_force IS
    'What holds for each tenant with a row, and by the row * for those without one: columns as in turnstile.tenant, with what is inherited. NULL: no limit.';

CREATE VIEW turnstile.account_in_force AS
    SELECT
        own.tenant, own.name, own.gate, coalesce(own.paused, false) AS paused, own.paused_until,
        nullif(coalesce(own.slots, of_tenant.slots, star.slots), -1) AS slots,
        nullif(coalesce(own.rate, of_tenant.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, of_tenant.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, of_tenant.burst, star.burst, 1) AS burst,
        greatest(
            own.rate_since, CASE WHEN own.rate IS NULL THEN of_tenant.rate_since END,
            CASE WHEN own.rate IS NULL AND of_tenant.rate IS NULL THEN star.rate_since END
        ) AS rate_since
    FROM (
        SELECT
            account.tenant, account.name, account.gate, account.paused, account.paused_until, account.slots, account.rate,
            account.rate_per, account.burst, account.rate_since
        FROM turnstile.account
        UNION ALL
        SELECT '*', '*', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.account WHERE account.tenant = '*' AND account.name = '*')
    ) AS own
    LEFT JOIN turnstile.account AS of_tenant ON of_tenant.tenant = own.tenant AND of_tenant.name = '*'
    LEFT JOIN turnstile.account AS star ON star.tenant = '*' AND star.name = '*';
COMMENT ON VIEW turnstile.account_in_force IS
    'What holds for each account with a row, and for those without one by the row (tenant, *), else by (*, *): columns as in turnstile.account, with what is inherited. NULL: no limit.';

CREATE VIEW turnstile.concurrency_in_force AS
    SELECT
        own.key, own.gate,
        nullif(coalesce(own.slots, star.slots), -1) AS slots,
        nullif(coalesce(own.rate, star.rate), -1) AS rate,
        coalesce(own.rate_per, star.rate_per, '1 second') AS rate_per,
        coalesce(own.burst, star.burst, 1) AS burst,
        greatest(own.rate_since, CASE WHEN own.rate IS NULL THEN star.rate_since END) AS rate_since
    FROM (
        SELECT
            concurrency.key, concurrency.gate, concurrency.slots, concurrency.rate, concurrency.rate_per, concurrency.burst,
            concurrency.rate_since
        FROM turnstile.concurrency
        UNION ALL
        SELECT '*', NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT FROM turnstile.concurrency WHERE concurrency.key = '*')
    ) AS own
    LEFT JOIN turnstile.concurrency AS star ON star.key = '*';
COMMENT ON VIEW turnstile.concurrency_in_force IS
    'What is set for each concurrency key with a row, and by the row * for those without one: columns as in turnstile.concurrency, with what is inherited. NULL: no limit. What slows a key comes on top, as in concurrency_keys.';
