-- Locks and gives up to $8 finished jobs that are not live again, chosen as by find_finished. Those that are locked are passed over, and so are
-- those whose end others still need: children of a live parent, and jobs that a live one comes after. Foreign days are left alone.
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
    AND NOT EXISTS (SELECT FROM ONLY turnstile.job AS parent WHERE parent.id = finished.parent)
    AND NOT EXISTS (
        SELECT
        FROM turnstile.dependency
        JOIN ONLY turnstile.job AS follower ON follower.id = dependency.job
        WHERE dependency.predecessor = finished.id
    )
    AND NOT EXISTS (SELECT FROM pg_class AS day WHERE day.oid = finished.tableoid AND day.relkind = 'f')
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
