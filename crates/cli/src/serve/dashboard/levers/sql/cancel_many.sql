-- $8, $10: seconds, and milliseconds since the change began: what was enqueued later is left alone. $9: how many jobs at most.
SELECT pg_catalog.to_json(turnstile.cancel_many(
    queue => $1, kind => $2, tenant => $3, account => $4, session => $5, state => $6, parent => $7,
    older_than => pg_catalog.make_interval(secs => greatest($8, $10 / 1000.0)), max_jobs => $9
))::text
