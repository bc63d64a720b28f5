INSERT INTO turnstile_bench.woken DEFAULT VALUES;
