-- $1: the concurrency key. Its limits as they are set, and not as a trial or a paused endpoint has them.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        concurrency.key = $1 AS is_own,
        concurrency.slots, concurrency.rate,
        concurrency.rate_per::text AS rate_per,
        extract(epoch FROM concurrency.rate_per)::float8 AS rate_seconds,
        concurrency.burst
    FROM turnstile.concurrency
    WHERE concurrency.key IN ($1, '*')
    ORDER BY concurrency.key = '*'
    LIMIT 1
) AS found
