VACUUM (ANALYZE) turnstile_bench.filtered, turnstile_bench.full_tenant;
