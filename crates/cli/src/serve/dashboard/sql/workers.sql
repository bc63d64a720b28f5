-- $1: a part of the name or of the queue, $2: how many rows at most, $3: the order.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        workers.worker, workers.queue,
        extract(epoch FROM workers.first_seen)::float8 AS first_seen,
        extract(epoch FROM workers.last_seen)::float8 AS last_seen,
        workers.claims, workers.jobs,
        pg_catalog.count(*) OVER () AS matching,
        pg_catalog.count(*) FILTER (WHERE workers.last_seen < pg_catalog.statement_timestamp() - '1 minute'::pg_catalog.interval) OVER () AS silent
    FROM turnstile.workers
    WHERE pg_catalog.strpos(pg_catalog.lower(pg_catalog.concat_ws(' ', workers.worker, workers.queue)), pg_catalog.lower($1)) > 0
    ORDER BY
        CASE $3
            WHEN 'name' THEN 0
            WHEN 'queue' THEN 0
            WHEN 'silent' THEN -extract(epoch FROM workers.last_seen)
            WHEN 'first' THEN -extract(epoch FROM workers.first_seen)
            WHEN 'claims' THEN workers.claims
            WHEN 'jobs' THEN workers.jobs
            ELSE extract(epoch FROM workers.last_seen)
        END::float8 DESC NULLS LAST,
        CASE $3 WHEN 'queue' THEN workers.queue END,
        workers.worker
    LIMIT $2
) AS found
