VACUUM (ANALYZE) turnstile_bench.kept;
