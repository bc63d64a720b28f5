VACUUM (ANALYZE) turnstile_bench.deleted;
