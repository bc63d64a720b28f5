-- Whether any live job of queue $1 does not know of one that comes after it.
SELECT EXISTS (
    SELECT
    FROM turnstile.dependency
    JOIN ONLY turnstile.job ON job.id = dependency.predecessor
    WHERE NOT dependency.is_told AND job.has_followers IS NOT TRUE AND job.queue = $1
)
