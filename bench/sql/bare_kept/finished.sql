SELECT count(*) FROM turnstile_bench.kept WHERE state = 'completed';
