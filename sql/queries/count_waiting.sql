-- How many jobs wait, by queue and tenant.
SELECT job.queue, job.tenant, count(*)
FROM ONLY turnstile.job
WHERE job.state IN ('available', 'scheduled', 'retryable')
GROUP BY 1, 2
