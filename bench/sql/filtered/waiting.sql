SELECT count(*)
FROM turnstile_bench.filtered
WHERE state = 'available' AND queue = %(queue)s AND tenant = %(tenant)s;
