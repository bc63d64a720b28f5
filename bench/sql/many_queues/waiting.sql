SELECT count(*)
FROM turnstile.job
WHERE state = 'available'
  AND starts_with(queue, %(prefix)s::text);
