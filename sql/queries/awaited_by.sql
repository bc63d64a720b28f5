-- What the job $1 waits for: (a job, whether only for its turn). For its own turn ($2) it does not wait for its children, and those of a batch
-- that is stopped end by themselves. At most 100 children, and as many jobs that it comes after.
SELECT child.id, false
FROM (SELECT job.id FROM ONLY turnstile.job WHERE job.parent = $1 LIMIT 100) AS child
WHERE NOT $2 AND NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = $1 AND batch.stops IS NOT NULL OFFSET 0)
UNION ALL
SELECT before.id, false
FROM (SELECT dependency.predecessor AS id FROM turnstile.dependency WHERE dependency.job = $1 LIMIT 100) AS before
UNION ALL
SELECT above.id, true
FROM ONLY turnstile.job
CROSS JOIN LATERAL (
    SELECT batch.id
    FROM turnstile.batch
    WHERE batch.id = job.parent AND batch.opened_at IS NULL AND batch.stops IS NULL
    OFFSET 0
) AS above
WHERE job.id = $1
