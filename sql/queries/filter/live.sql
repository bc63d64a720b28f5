-- Live jobs in one of the states $6, enqueued longer ago than $7, whose last run failed before $13. NULL: any. Those that run and were
-- asked to cancel, and parents that end once their children have, are passed over.
SELECT chosen.id
FROM ONLY turnstile.job AS chosen
WHERE chosen.state = ANY ($6)
    AND ($7 IS NULL OR chosen.created_at < clock_timestamp() - $7)
    AND ($13 IS NULL OR (chosen.errors -> -1 ->> 'at')::timestamptz < $13)
    AND NOT (chosen.state = 'running' AND chosen.cancel_requested_at IS NOT NULL)
    AND NOT (
        chosen.state = 'blocked'
        AND EXISTS (SELECT FROM turnstile.batch WHERE batch.id = chosen.id AND batch.stops IN ('cancelled', 'discarded'))
    )
