-- Tables that inherit from turnstile.job and have rows, and how many: (table, rows). No claim looks there.
SELECT job.tableoid::regclass::text, count(*)
FROM turnstile.job
WHERE job.tableoid <> 'turnstile.job'::regclass
GROUP BY 1
