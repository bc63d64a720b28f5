SELECT count(*)
FROM turnstile.job
WHERE state = 'available'
  AND queue = %(queue)s
  AND tenant IS NOT DISTINCT FROM %(tenant)s::text;
