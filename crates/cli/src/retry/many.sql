-- $7, $13: seconds, the latter since the first call: what has failed later is left alone. What is scheduled need not have failed. $8: how many
-- jobs at most. $11: JSON as it was given.
SELECT pg_catalog.to_jsonb(turnstile.retry_many(
    queue => $1, kind => $2, tenant => $3, account => $4, session => $5, state => $6,
    older_than => pg_catalog.make_interval(secs => $7), max_jobs => $8, parent => $9,
    concurrency_key => $10, metadata => $11::pg_catalog.jsonb, error => $12,
    ended_before => CASE
        WHEN $6 IS DISTINCT FROM 'scheduled' THEN pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $13)
    END
))
