-- Whether any live job of queue $1 does not know of one that comes after it.
SELECT EXISTS (
    SELECT
    FROM turnstile.dependency
    WHERE NOT dependency.is_told AND EXISTS (
        -- OFFSET 0: one look for each. The planner would rather read all jobs.
        SELECT FROM ONLY turnstile.job
        WHERE job.id = dependency.predecessor AND job.has_followers IS NOT TRUE AND job.queue = $1
        OFFSET 0
    )
)
