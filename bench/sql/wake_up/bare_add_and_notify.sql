WITH made AS (
    INSERT INTO turnstile_bench.woken DEFAULT VALUES
    RETURNING id
)
SELECT pg_notify('turnstile_bench_woken', '')
FROM made;
