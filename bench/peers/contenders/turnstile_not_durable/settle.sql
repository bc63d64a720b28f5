SELECT turnstile.complete_many(array_agg(id), array_agg(attempt))
FROM turnstile.job
WHERE state = 'running' AND lease_expires_at < 'infinity'
HAVING count(*) > 0;
