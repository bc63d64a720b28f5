-- Jobs $1 <= id < $2, the newest first, at most $3: of queue $4, kind $5, tenant $6, account $7, session $8, in one of the states $9
-- (none: any), $10: live or finished, older than $11 seconds and younger than $12, children of $13, with
-- one of the ids $14, with a payload that contains $15. NULL: any. The range of ids goes to an index, and so does a state that few jobs have; $10 leaves out one half of the tables.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        page.id, page.state, page.kind, page.queue, page.tenant, page.session, page.attempt, page.max_attempts, page.worker,
        page.cancel_requested_at IS NOT NULL AS is_cancel_requested,
        page.finished_at IS NOT NULL AND EXISTS (
            SELECT
            FROM seen AS later
            WHERE later.id = page.id AND (later.finished_at IS NULL OR later.finished_at > page.finished_at)
        ) AS is_brought_back,
        extract(epoch FROM page.created_at)::float8 AS created_at,
        CASE WHEN pg_catalog.isfinite(page.run_at) THEN extract(epoch FROM page.run_at)::float8 END AS run_at,
        extract(epoch FROM page.started_at)::float8 AS started_at,
        extract(epoch FROM page.finished_at)::float8 AS finished_at,
        CASE WHEN page.state IN ('retryable', 'discarded') AND pg_catalog.jsonb_typeof(page.errors) = 'array' THEN
            pg_catalog.left(pg_catalog.split_part(page.errors -> -1 ->> 'error', E'\n', 1), 300)
        END AS error
    FROM (
        SELECT
            jobs.id, jobs.state, jobs.kind, jobs.queue, jobs.tenant, jobs.session, jobs.attempt, jobs.max_attempts, jobs.worker,
            jobs.cancel_requested_at, jobs.created_at, jobs.run_at, jobs.started_at, jobs.finished_at,
            jobs.errors
        FROM seen AS jobs
        WHERE jobs.id >= $1 AND jobs.id < $2
            AND ($4 IS NULL OR jobs.queue = $4)
            AND ($5 IS NULL OR jobs.kind = $5)
            AND ($6 IS NULL OR jobs.tenant = $6)
            AND ($7 IS NULL OR jobs.account = $7)
            AND ($8 IS NULL OR jobs.session = $8)
            AND (pg_catalog.cardinality($9) = 0 OR jobs.state = ANY ($9))
            AND (pg_catalog.cardinality($9) = 0 OR NOT $9 OPERATOR(pg_catalog.<@) '{scheduled,retryable}' OR jobs.waits_for = 'time')
            AND (pg_catalog.cardinality($9) = 0 OR NOT $9 OPERATOR(pg_catalog.<@) '{blocked}' OR jobs.waits_for = 'jobs')
            AND ($10 IS NULL OR (jobs.finished_at IS NULL) = $10)
            AND ($11 IS NULL OR coalesce(jobs.finished_at, jobs.created_at) < pg_catalog.statement_timestamp() - pg_catalog.make_interval(secs => $11))
            AND ($12 IS NULL OR coalesce(jobs.finished_at, jobs.created_at) > pg_catalog.statement_timestamp() - pg_catalog.make_interval(secs => $12))
            AND ($13 IS NULL OR jobs.parent = $13)
            AND ($14 IS NULL OR jobs.id = ANY ($14::pg_catalog.int8[]))
            AND ($15 IS NULL OR jobs.payload @> $15::pg_catalog.jsonb)
        ORDER BY jobs.id DESC
        LIMIT $3
    ) AS page
    ORDER BY page.id DESC
) AS found
