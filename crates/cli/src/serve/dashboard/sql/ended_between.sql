-- Whether any job $1 <= id < $2 has ended.
SELECT pg_catalog.to_json(EXISTS (
    SELECT FROM turnstile.job_status AS jobs WHERE jobs.id >= $1 AND jobs.id < $2 AND jobs.finished_at IS NOT NULL
))::text
