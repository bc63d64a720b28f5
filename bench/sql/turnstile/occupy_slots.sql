SELECT count(*)
FROM turnstile.claim(ARRAY[%(queue)s], %(slots)s::int, 'bench', interval '1 day');
