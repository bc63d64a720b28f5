INSERT INTO procrastinate_jobs (queue_name, task_name, args, lock)
SELECT 'default', 'bench', %(payload)s::jsonb, 'session-' || mod(number, current_setting('bench.sessions')::int)
FROM generate_series(%(first)s::int, %(last)s::int) AS number;
