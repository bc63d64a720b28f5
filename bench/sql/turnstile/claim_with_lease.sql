SELECT count(*) FROM turnstile.claim(ARRAY[%(queue)s::text], 1000, lease => %(seconds)s::float8 * interval '1 second');
