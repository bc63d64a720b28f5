-- $1: a part of the key, $2: one key or NULL, $3: how many rows at most, $4: the order.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        keys.key AS name, keys.slots,
        coalesce(keys.paused_until > pg_catalog.statement_timestamp(), false) AS is_paused,
        CASE WHEN pg_catalog.isfinite(keys.paused_until) THEN extract(epoch FROM keys.paused_until)::float8 END AS paused_until,
        keys.one_at_a_time,
        keys.rate,
        keys.rate_per::text AS rate_per,
        extract(epoch FROM keys.rate_per)::float8 AS rate_seconds,
        keys.burst,
        keys.running, keys.free, keys.waiting, keys.scheduled, keys.retryable, keys.blocked,
        extract(epoch FROM keys.oldest_waiting)::float8 AS oldest_seconds,
        keys.claimed_per_minute, keys.finished_per_minute,
        pg_catalog.count(*) OVER () AS matching
    FROM turnstile.concurrency_keys AS keys
    WHERE pg_catalog.strpos(pg_catalog.lower(keys.key), pg_catalog.lower($1)) > 0 AND coalesce(keys.key = $2, true)
    ORDER BY
        CASE $4
            WHEN 'name' THEN 0
            WHEN 'running' THEN keys.running
            WHEN 'waiting' THEN keys.waiting
            WHEN 'oldest' THEN extract(epoch FROM keys.oldest_waiting)
            WHEN 'later' THEN keys.scheduled + keys.retryable + keys.blocked
            WHEN 'started' THEN keys.claimed_per_minute
            WHEN 'finished' THEN keys.finished_per_minute
            ELSE keys.running + keys.waiting
        END::float8 DESC NULLS LAST,
        keys.key
    LIMIT $3
) AS found
