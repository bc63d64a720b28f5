-- What several statements of the library say alike: what a lane is made of, and what a row of settings means to the scheduler.

CREATE VIEW turnstile.job_lane AS
    SELECT
        job.id, job.state, job.attempt, job.uncounted, job.lane, job.position, job.queue, job.tenant, job.account,
        CASE WHEN NOT job.holds_session THEN job.session END AS session,
        job.concurrency_key,
        CASE WHEN job.unique_mode IN ('while_executing', 'until_and_while_executing') THEN job.unique_key END AS unique_key,
        job.priority
    FROM ONLY turnstile.job;
COMMENT ON VIEW turnstile.job_lane IS
    'Internal. Live jobs with the names that make up their lane: a job that holds its session does not wait for it, and only some modes of a unique key let one job with it run at a time.';

CREATE VIEW turnstile.gate_setting AS
    SELECT
        0 AS kind, queue.gate, CASE WHEN queue.paused THEN 0 ELSE queue.max_running END AS slots, queue.rate,
        (extract(epoch FROM queue.rate_per) * 1000000)::bigint AS rate_per, queue.burst, queue.paused_until,
        NULL::int AS weight, queue.policy = 'fair' AS is_fair, (extract(epoch FROM queue.aging) * 1000)::bigint AS aging
    FROM turnstile.queue
    UNION ALL
    SELECT
        1, tenant.gate, CASE WHEN tenant.paused THEN 0 ELSE tenant.slots END, tenant.rate,
        (extract(epoch FROM tenant.rate_per) * 1000000)::bigint, tenant.burst, tenant.paused_until, tenant.weight, NULL, NULL
    FROM turnstile.tenant
    UNION ALL
    SELECT
        2, account.gate, CASE WHEN account.paused THEN 0 ELSE account.slots END, account.rate,
        (extract(epoch FROM account.rate_per) * 1000000)::bigint, account.burst, account.paused_until, NULL, NULL, NULL
    FROM turnstile.account
    UNION ALL
    SELECT 3, paused_session.gate, 1, NULL, NULL, NULL, paused_session.until, NULL, NULL, NULL
    FROM turnstile.paused_session
    UNION ALL
    SELECT
        4, concurrency.gate, concurrency.slots, concurrency.rate,
        (extract(epoch FROM concurrency.rate_per) * 1000000)::bigint, concurrency.burst, NULL, NULL, NULL, NULL
    FROM turnstile.concurrency;
COMMENT ON VIEW turnstile.gate_setting IS
    'Internal. Rows of settings as the scheduler reads them: the number of the kind of gate (as in stored keys), the gate, how many may run at once, starts per rate_per (microseconds) and their burst, the end of a pause, the weight of a tenant, whether tenants share a queue fairly, and the interval of aging in milliseconds. NULL: no limit, or the default.';
