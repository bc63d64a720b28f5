INSERT INTO procrastinate_jobs (queue_name, task_name, args, lock)
SELECT 'default', 'bench', %(payload)s::jsonb, 'long'
FROM generate_series(1, %(jobs)s::int);
