SELECT count(*)
FROM turnstile_bench.filtered
WHERE state = 'completed' AND queue = %(queue)s AND tenant = %(tenant)s;
