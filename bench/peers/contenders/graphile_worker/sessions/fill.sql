SELECT count(*)
FROM graphile_worker.add_jobs((
    SELECT array_agg((
        'bench', %(payload)s, 'session-' || mod(number, current_setting('bench.sessions')::int), NULL, NULL, NULL, NULL, NULL
    )::graphile_worker.job_spec)
    FROM generate_series(%(first)s::int, %(last)s::int) AS number
));
