SELECT count(*)
FROM pgmq.send_batch(
    'bench',
    (SELECT array_agg(%(payload)s::jsonb) FROM generate_series(1, %(jobs)s::int)),
    (SELECT array_agg('{"x-pgmq-group": "long"}'::jsonb) FROM generate_series(1, %(jobs)s::int))
)
HAVING %(jobs)s::int > 0;
