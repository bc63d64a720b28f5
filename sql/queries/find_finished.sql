-- Locks and gives up to $8 finished jobs that are not live again, of queue $1, kind $2, tenant $3, account $4, session
-- $5, whose last end was in one of the states $6 and longer ago than $7, children of $9, of concurrency key $10, whose metadata contain
-- $11 and whose last error begins with $12, that ended before $13, with ids from $14 to $15. NULL: any. $2 is a pattern of LIKE.
-- Those that are locked, and children of a job that takes none, are passed over.
SELECT finished.id
FROM turnstile.job_history AS finished
WHERE ($1 IS NULL OR finished.queue = $1)
    AND ($2 IS NULL OR finished.kind LIKE $2 ESCAPE '!')
    AND ($3 IS NULL OR finished.tenant = $3)
    AND ($4 IS NULL OR finished.account = $4)
    AND ($5 IS NULL OR finished.session = $5)
    AND ($9 IS NULL OR finished.parent = $9)
    AND ($10 IS NULL OR finished.concurrency_key = $10)
    AND ($11 IS NULL OR finished.metadata @> $11)
    AND ($12 IS NULL OR starts_with(finished.errors -> -1 ->> 'error', $12))
    AND (
        finished.parent IS NULL OR EXISTS (
            SELECT
            FROM ONLY turnstile.job AS parent
            WHERE parent.id = finished.parent
                AND (
                    parent.state = 'running' OR parent.opens_batch OR (
                        parent.state = 'blocked'
                        AND NOT EXISTS (SELECT FROM turnstile.dependency WHERE dependency.job = parent.id)
                    )
                )
                AND NOT EXISTS (SELECT FROM turnstile.batch WHERE batch.id = parent.id AND batch.stops IS NOT NULL)
        )
    )
    AND ($13 IS NULL OR finished.finished_at < $13)
    AND finished.id BETWEEN coalesce($14, -9223372036854775808) AND coalesce($15, 9223372036854775807)
    AND finished.state = ANY ($6)
    AND ($7 IS NULL OR finished.finished_at < clock_timestamp() - $7)
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = finished.id)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.job_history AS later
        WHERE later.id = finished.id AND later.finished_at > finished.finished_at
    )
ORDER BY finished.id, finished.finished_at
LIMIT $8
FOR UPDATE OF finished SKIP LOCKED
