-- The last ends of job $1, one if it was never brought back.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT jobs.state, extract(epoch FROM jobs.finished_at)::float8 AS finished_at
    FROM seen AS jobs
    WHERE jobs.id = $1 AND jobs.finished_at IS NOT NULL
    ORDER BY jobs.finished_at DESC
    LIMIT 20
) AS found
