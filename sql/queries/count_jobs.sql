-- How many jobs there are by queue, tenant, account, concurrency key, state and time.
SELECT job.queue, job.tenant, job.account, job.concurrency_key, job.state, job.run_at, count(*)::int
FROM ONLY turnstile.job
GROUP BY 1, 2, 3, 4, 5, 6
