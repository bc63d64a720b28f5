SELECT count(*)
FROM graphile_worker.add_jobs((
    SELECT array_agg(('bench', %(payload)s, 'long', NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec)
    FROM generate_series(1, %(jobs)s::int)
))
WHERE %(jobs)s::int > 0;
