-- Marks those live predecessors of the jobs $1 whose queues keep no completed jobs: with the mark they leave history. It waits for
-- transactions that have them.
WITH unmarked AS MATERIALIZED (
    SELECT dependency.predecessor
    FROM turnstile.dependency
    JOIN ONLY turnstile.job ON job.id = dependency.predecessor
    WHERE dependency.job = ANY ($1) AND job.has_followers IS NOT TRUE AND (
            SELECT setting.keep_completed = '0'
            FROM turnstile.queue_in_force AS setting
            WHERE setting.name IN (job.queue, '*')
            ORDER BY setting.name = '*'
            LIMIT 1
        )
), locked AS MATERIALIZED (
    SELECT job.id
    FROM ONLY turnstile.job
    WHERE job.id = ANY (ARRAY(SELECT unmarked.predecessor FROM unmarked))
    ORDER BY job.id
    FOR NO KEY UPDATE
)
UPDATE ONLY turnstile.job
SET has_followers = true
FROM locked
WHERE job.id = locked.id
