SELECT count(*)
FROM pgmq.send_batch(
    'bench',
    (SELECT array_agg(%(payload)s::jsonb) FROM generate_series(%(first)s::int, %(last)s::int)),
    (
        SELECT array_agg(jsonb_build_object('x-pgmq-group', 'session-' || mod(number, current_setting('bench.sessions')::int)))
        FROM generate_series(%(first)s::int, %(last)s::int) AS number
    )
);
