-- Whether queue $1 keeps no completed jobs, and whether any of its live jobs does not know of one that comes after it.
SELECT
    coalesce((
        SELECT setting.keep_completed = '0'
        FROM turnstile.queue_in_force AS setting
        WHERE setting.name IN ($1, '*')
        ORDER BY setting.name = '*'
        LIMIT 1
    ), false),
    EXISTS (
        SELECT
        FROM turnstile.dependency
        JOIN ONLY turnstile.job ON job.id = dependency.predecessor
        WHERE NOT dependency.is_told AND job.has_followers IS NOT TRUE AND job.queue = $1
    )
