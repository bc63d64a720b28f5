-- Adds a job as enqueue does, under the id $12 and position $13 (null: new ones), with unique key $14, mode $15
-- and end of its window $16. No row if the key has a later generation than $17: it was passed on and its
-- newest row deleted between the look at the key and its taking, so that generation 1 was free again.
INSERT INTO turnstile.job (
    kind, payload, queue, tenant, account, session, concurrency_key, priority, run_at, max_attempts, metadata,
    id, position, unique_key, unique_mode, unique_until, lane, lane_group
)
SELECT
    $1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, clock_timestamp()), $10, $11,
    coalesce($12, nextval('turnstile.job_id_seq')), coalesce($13, nextval('turnstile.job_position_seq')),
    -- The trigger puts it into its lane.
    $14, $15, $16, 0, 0
WHERE $17 IS NULL OR NOT EXISTS (
    SELECT FROM turnstile.unique_key AS later
    WHERE later.tenant = coalesce($4, '') AND later.key = $14 AND later.generation > $17
)
RETURNING job.id
