INSERT INTO procrastinate_jobs (queue_name, task_name, args)
SELECT 'default', 'bench', %(payload)s::jsonb
FROM generate_series(%(first)s::int, %(last)s::int);
