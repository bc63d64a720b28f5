SELECT count(*)
FROM pgmq.send_batch('bench', (
    SELECT array_agg(%(payload)s::jsonb)
    FROM generate_series(%(first)s::int, %(last)s::int)
));
