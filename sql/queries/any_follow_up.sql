-- Whether any job may wait for others. Most databases have none, and are not searched.
SELECT EXISTS (SELECT FROM turnstile.batch)
    OR EXISTS (SELECT FROM turnstile.dependency)
    OR EXISTS (SELECT FROM ONLY turnstile.job WHERE job.waits_for = 'jobs')
