-- $1: the tenant, $2: one account or NULL, $3: how many rows at most, those with the most work first.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        accounts.name, accounts.slots,
        accounts.paused OR coalesce(accounts.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE
            WHEN NOT accounts.paused AND pg_catalog.isfinite(accounts.paused_until) THEN extract(epoch FROM accounts.paused_until)::float8
        END AS paused_until,
        accounts.rate,
        accounts.rate_per::text AS rate_per,
        extract(epoch FROM accounts.rate_per)::float8 AS rate_seconds,
        accounts.burst,
        accounts.running, accounts.free, accounts.waiting, accounts.scheduled, accounts.retryable, accounts.blocked,
        extract(epoch FROM accounts.oldest_waiting)::float8 AS oldest_seconds,
        accounts.claimed_per_minute, accounts.finished_per_minute,
        pg_catalog.count(*) OVER () AS matching
    FROM turnstile.accounts
    WHERE accounts.tenant = $1 AND coalesce(accounts.name = $2, true)
    ORDER BY accounts.running + accounts.waiting DESC, accounts.name
    LIMIT $3
) AS found
