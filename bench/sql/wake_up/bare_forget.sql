TRUNCATE turnstile_bench.woken;
