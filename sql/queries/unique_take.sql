-- Passes key $2 in the scope $1 from generation $3 (0: there was none) to job $4 with mode $5
-- or the states $7, for $6. No row if another transaction was first; one that is still open is waited for.
WITH given_up AS (
    DELETE FROM turnstile.unique_key
    WHERE unique_key.tenant = $1 AND unique_key.key = $2 AND unique_key.generation = $3
    RETURNING unique_key.generation
)
INSERT INTO turnstile.unique_key (tenant, key, generation, job_id, mode, expires_at, states)
SELECT $1, $2, $3 + 1, $4, $5, clock_timestamp() + $6, $7
WHERE $3 = 0 OR EXISTS (SELECT FROM given_up)
ON CONFLICT DO NOTHING
RETURNING unique_key.expires_at
