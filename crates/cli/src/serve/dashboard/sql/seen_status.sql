-- All jobs, without what is in them.
WITH seen AS NOT MATERIALIZED (
    SELECT job_status.*, NULL::pg_catalog.jsonb AS payload, NULL::pg_catalog.jsonb AS errors
    FROM turnstile.job_status
)
