-- Deletes up to $1 keys whose holder is no more and whose window is over. Only rows that every snapshot of the
-- server sees alike, $2 being the oldest transaction id that one might not: so a key leaves at most one dead row
-- a pinned snapshot in front of the generations that start anew.
WITH unused AS MATERIALIZED (
    SELECT unique_key.tenant, unique_key.key, unique_key.generation
    FROM turnstile.unique_key
    WHERE (
            unique_key.mode <> 'until_expired' OR NOT unique_key.states && '{completed,cancelled,discarded}'
            OR unique_key.expires_at <= clock_timestamp()
        )
        AND NOT EXISTS (SELECT FROM ONLY turnstile.job WHERE job.id = unique_key.job_id)
        AND age(unique_key.xmin) > age($2)
    LIMIT $1
    FOR UPDATE OF unique_key SKIP LOCKED
)
DELETE FROM turnstile.unique_key
USING unused
WHERE unique_key.tenant = unused.tenant AND unique_key.key = unused.key
    AND unique_key.generation = unused.generation
RETURNING unique_key.generation
