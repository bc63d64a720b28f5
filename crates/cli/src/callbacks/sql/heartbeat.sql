-- $3: seconds.
SELECT turnstile.heartbeat(job_id => $1, attempt => $2, lease => pg_catalog.make_interval(secs => $3))
