-- Job $1. A finished job that was brought back is there as both: the live one counts, else the last end. What follows says where it is read.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        jobs.id, jobs.state, jobs.kind, jobs.queue, jobs.tenant, jobs.account, jobs.session, jobs.holds_session, jobs.concurrency_key,
        jobs.unique_key, jobs.unique_mode, jobs.priority, jobs.attempt, jobs.max_attempts, jobs.uncounted, jobs.worker, jobs.owner_pid,
        jobs.parent, coalesce(jobs.has_followers, false) AS has_followers,
        extract(epoch FROM jobs.created_at)::float8 AS created_at,
        CASE WHEN pg_catalog.isfinite(jobs.run_at) THEN extract(epoch FROM jobs.run_at)::float8 END AS run_at,
        extract(epoch FROM jobs.started_at)::float8 AS started_at,
        extract(epoch FROM jobs.finished_at)::float8 AS finished_at,
        CASE WHEN pg_catalog.isfinite(jobs.lease_expires_at) THEN extract(epoch FROM jobs.lease_expires_at)::float8 END AS lease_expires_at,
        extract(epoch FROM jobs.cancel_requested_at)::float8 AS cancel_requested_at,
        CASE WHEN pg_catalog.isfinite(jobs.unique_until) THEN extract(epoch FROM jobs.unique_until)::float8 END AS unique_until
