-- $7: seconds, $8: how many jobs at most.
SELECT pg_catalog.to_jsonb(turnstile.retry_many(
    queue => $1, kind => $2, tenant => $3, account => $4, session => $5, state => $6,
    older_than => pg_catalog.make_interval(secs => $7), max_jobs => $8, parent => $9
))
