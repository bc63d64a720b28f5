    FROM turnstile.job_status AS jobs
    WHERE jobs.id = $1
    ORDER BY jobs.finished_at DESC NULLS FIRST
    LIMIT 1
) AS found
