-- $4: seconds.
SELECT turnstile.fail(
    job_id => $1,
    attempt => $2,
    error => $3,
    retry_in => pg_catalog.make_interval(secs => $4),
    discard => $5,
    error_class => $6
)
