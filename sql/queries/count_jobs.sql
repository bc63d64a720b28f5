-- How many jobs there are by queue, tenant, account, concurrency key, state, time and parent.
SELECT job.queue, job.tenant, job.account, job.concurrency_key, job.state, job.run_at, count(*)::int, job.parent::text
FROM ONLY turnstile.job
GROUP BY 1, 2, 3, 4, 5, 6, 8
