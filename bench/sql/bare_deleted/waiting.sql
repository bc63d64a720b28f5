SELECT count(*) FROM turnstile_bench.deleted WHERE state = 'available';
