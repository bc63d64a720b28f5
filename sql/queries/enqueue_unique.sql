-- Adds a job as enqueue does, under the id $13 and position $14, with unique key $15, mode $16
-- or states $21, and end of its window $17, blocked ($19) and to open its batch when its turn comes ($20). No row if the key has a later generation than $18: it was passed on and its
-- newest row deleted between the look at the key and its taking, so that generation 1 was free again.
INSERT INTO turnstile.job (
    kind, payload, queue, tenant, account, session, concurrency_key, priority, run_at, max_attempts, metadata,
    id, position, unique_key, unique_mode, unique_until, lane, lane_group, parent, state, opens_batch, unique_states
)
SELECT
    $1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, clock_timestamp()), $10, $11,
    $13, $14,
    -- The trigger puts it into its lane.
    $15, $16, $17, 0, 0, $12, CASE WHEN $19 THEN 'blocked' ELSE 'available' END, nullif($20, false), $21
WHERE $18 IS NULL OR NOT EXISTS (
    SELECT FROM turnstile.unique_key AS later
    WHERE later.tenant = coalesce($4, '') AND later.key = $15 AND later.generation > $18
)
RETURNING job.id
