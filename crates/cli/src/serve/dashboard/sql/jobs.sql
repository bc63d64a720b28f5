-- Jobs of matching.sql, the newest first, at most $3.
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
        FROM matching AS jobs
        ORDER BY jobs.id DESC
        LIMIT $3
    ) AS page
    ORDER BY page.id DESC
) AS found
