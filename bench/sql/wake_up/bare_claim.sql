UPDATE turnstile_bench.woken
SET state = 'completed', claimed_at = clock_timestamp()
WHERE id = (
    SELECT id
    FROM turnstile_bench.woken
    WHERE state = 'available'
    ORDER BY id
    FOR UPDATE SKIP LOCKED
    LIMIT 1
)
RETURNING id;
