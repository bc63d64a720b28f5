-- $1: a part of the name, the kind or the queue, $2: how many rows at most.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        recurring.name, recurring.cron, recurring.active, recurring.kind, recurring.queue, recurring.tenant,
        extract(epoch FROM recurring.last_firing)::float8 AS last_firing,
        extract(epoch FROM recurring.next_firing)::float8 AS next_firing,
        recurring.time_zone, recurring.last_error, recurring.last_job_id, recurring.owner,
        pg_catalog.count(*) OVER () AS matching
    FROM turnstile.recurring_jobs AS recurring
    WHERE pg_catalog.strpos(
        pg_catalog.lower(pg_catalog.concat_ws(' ', recurring.name, recurring.kind, recurring.queue)), pg_catalog.lower($1)
    ) > 0
    ORDER BY recurring.active, recurring.name
    LIMIT $2
) AS found
