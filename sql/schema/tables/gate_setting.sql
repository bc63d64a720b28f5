-- What a row of settings means to the scheduler. A view for each kind of gate, as who reads one row must neither lock nor
-- wait for the tables of other kinds. What a row inherits is in them.

CREATE VIEW turnstile.setting_of_queue AS
    SELECT
        own.gate, CASE WHEN own.paused THEN 0 ELSE own.max_running END AS slots, own.rate,
        (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst, own.paused_until,
        NULL::int AS weight, own.policy = 'fair' AS is_fair, (extract(epoch FROM own.aging) * 1000)::bigint AS aging,
        own.max_waiting, own.rate_since
    FROM turnstile.queue_in_force AS own
    WHERE own.gate IS NOT NULL;
COMMENT ON VIEW turnstile.setting_of_queue IS 'Internal. Settings of queues, with the columns of gate_setting.';

CREATE VIEW turnstile.setting_of_tenant AS
    SELECT
        own.gate, CASE WHEN own.paused THEN 0 ELSE own.slots END AS slots, own.rate,
        (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst, own.paused_until,
        own.weight, NULL::boolean AS is_fair, NULL::bigint AS aging, own.max_waiting, own.rate_since
    FROM turnstile.tenant_in_force AS own
    WHERE own.gate IS NOT NULL;
COMMENT ON VIEW turnstile.setting_of_tenant IS 'Internal. Settings of tenants, with the columns of gate_setting.';

CREATE VIEW turnstile.setting_of_account AS
    SELECT
        own.gate, CASE WHEN own.paused THEN 0 ELSE own.slots END AS slots, own.rate,
        (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst, own.paused_until,
        NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging, NULL::int AS max_waiting,
        own.rate_since
    FROM turnstile.account_in_force AS own
    WHERE own.gate IS NOT NULL;
COMMENT ON VIEW turnstile.setting_of_account IS 'Internal. Settings of accounts, with the columns of gate_setting.';

CREATE VIEW turnstile.setting_of_session AS
    SELECT
        paused_session.gate, 1 AS slots, NULL::int AS rate, NULL::bigint AS rate_per, NULL::int AS burst,
        paused_session.until AS paused_until, NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging,
        NULL::int AS max_waiting, NULL::timestamptz AS rate_since
    FROM turnstile.paused_session;
COMMENT ON VIEW turnstile.setting_of_session IS 'Internal. Pauses of sessions, with the columns of gate_setting.';

-- A row of slowed_key, or an endpoint that is paused, bends what holds for its key, and copies none of it: a key without a row of its
-- own goes on following the row *. A key whose endpoints are all paused is closed.
-- OFFSET 0: one look for each key, as of those that a gate names there are few, which the planner does not know.
CREATE VIEW turnstile.setting_of_concurrency AS
    SELECT
        own.gate,
        CASE
            WHEN (SELECT bool_and(endpoint.paused) FROM turnstile.endpoint WHERE endpoint.concurrency_key = own.key) THEN 0
            WHEN slowed.one_at_a_time THEN least(own.slots, 1)
            ELSE own.slots
        END AS slots,
        own.rate, (extract(epoch FROM own.rate_per) * 1000000)::bigint AS rate_per, own.burst,
        slowed.paused_until, NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging, NULL::int AS max_waiting,
        own.rate_since
    FROM turnstile.concurrency_in_force AS own
    LEFT JOIN LATERAL (SELECT slowed_key.* FROM turnstile.slowed_key WHERE slowed_key.key = own.key OFFSET 0) AS slowed ON true
    WHERE own.gate IS NOT NULL
    UNION ALL
    SELECT
        bent.gate,
        CASE
            WHEN (SELECT bool_and(endpoint.paused) FROM turnstile.endpoint WHERE endpoint.concurrency_key = bent.key) THEN 0
            WHEN slowed.one_at_a_time THEN least(star.slots, 1)
            ELSE star.slots
        END,
        star.rate, (extract(epoch FROM star.rate_per) * 1000000)::bigint, star.burst, slowed.paused_until, NULL, NULL, NULL, NULL, star.rate_since
    FROM (
        SELECT slowed_key.key, slowed_key.gate FROM turnstile.slowed_key
        UNION
        SELECT endpoint.concurrency_key, endpoint.gate
        FROM turnstile.endpoint
        WHERE endpoint.paused AND endpoint.concurrency_key IS NOT NULL
    ) AS bent
    LEFT JOIN LATERAL (SELECT slowed_key.* FROM turnstile.slowed_key WHERE slowed_key.key = bent.key OFFSET 0) AS slowed ON true
    JOIN turnstile.concurrency_in_force AS star ON star.key = '*'
    WHERE NOT EXISTS (SELECT FROM turnstile.concurrency AS own WHERE own.key = bent.key OFFSET 0);
COMMENT ON VIEW turnstile.setting_of_concurrency IS
    'Internal. Settings of concurrency keys with what slows them, with the columns of gate_setting.';

CREATE VIEW turnstile.setting_of_batch AS
    SELECT
        batch.gate,
        CASE WHEN batch.paused OR batch.opened_at IS NULL OR batch.stops IS NOT NULL THEN 0 ELSE batch.slots END AS slots,
        batch.rate, (extract(epoch FROM batch.rate_per) * 1000000)::bigint AS rate_per, batch.burst, batch.paused_until,
        NULL::int AS weight, NULL::boolean AS is_fair, NULL::bigint AS aging, NULL::int AS max_waiting,
        batch.rate_since
    FROM turnstile.batch;
COMMENT ON VIEW turnstile.setting_of_batch IS 'Internal. Settings of batches, with the columns of gate_setting.';

CREATE VIEW turnstile.gate_setting AS
    SELECT 0 AS kind, setting.* FROM turnstile.setting_of_queue AS setting
    UNION ALL
    SELECT 1, setting.* FROM turnstile.setting_of_tenant AS setting
    UNION ALL
    SELECT 2, setting.* FROM turnstile.setting_of_account AS setting
    UNION ALL
    SELECT 3, setting.* FROM turnstile.setting_of_session AS setting
    UNION ALL
    SELECT 4, setting.* FROM turnstile.setting_of_concurrency AS setting
    UNION ALL
    SELECT 6, setting.* FROM turnstile.setting_of_batch AS setting;
COMMENT ON VIEW turnstile.gate_setting IS
    'Internal. Rows of settings as the scheduler reads them: the number of the kind of gate (as in stored keys), the gate, how many may run at once, starts per rate_per (microseconds) and their burst, the end of a pause, the weight of a tenant, whether tenants share a queue fairly, the interval of aging in milliseconds, how many may wait, and since when there is a rate. NULL: no limit, or the default.';
