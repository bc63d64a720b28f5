-- $8, $10: seconds, and milliseconds since the change began: what has failed later is left alone. What is scheduled need not have failed.
-- $9: how many jobs at most.
SELECT pg_catalog.to_json(turnstile.retry_many(
    queue => $1, kind => $2, tenant => $3, account => $4, session => $5, state => $6, parent => $7,
    older_than => pg_catalog.make_interval(secs => $8), max_jobs => $9,
    ended_before => CASE
        WHEN $6 IS DISTINCT FROM 'scheduled' THEN pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $10 / 1000.0)
    END
))::text
