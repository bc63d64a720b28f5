-- Jobs that hold their session while they wait to be retried.
SELECT job.queue, job.tenant, NULL, job.session, NULL, NULL, 0, count(*)
FROM ONLY turnstile.job
WHERE job.holds_session AND job.session IS NOT NULL
GROUP BY 1, 2, 4
