-- $1: a queue or NULL, $2: how many jobs at most. Ids of jobs that run, and, if those are so many, how many more figures know of.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        seen.ids,
        CASE WHEN seen.jobs < $2 THEN 0 ELSE greatest(seen.jobs, (
            SELECT coalesce(pg_catalog.sum(queues.running), 0)::bigint FROM turnstile.queues WHERE $1 IS NULL OR queues.name = $1
        )) - seen.jobs END AS missing
    FROM (
        SELECT pg_catalog.count(*) AS jobs, coalesce(pg_catalog.json_agg(jobs.id), '[]') AS ids
        FROM turnstile.running_jobs($1, $2::int) AS jobs
    ) AS seen
) AS found
