-- Jobs that hold their session while they wait to be retried, as lanes of their queue, tenant and session.
SELECT ARRAY[job.queue, job.tenant, NULL, job.session], 0, count(*)
FROM ONLY turnstile.job
WHERE job.holds_session AND job.session IS NOT NULL
GROUP BY job.queue, job.tenant, job.session
