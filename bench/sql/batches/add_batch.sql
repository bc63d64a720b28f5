SELECT turnstile.enqueue_batch(
    'callback',
    children => (
        SELECT jsonb_agg(jsonb_build_object('kind', 'child', 'payload', %(payload)s::jsonb))
        FROM generate_series(1, %(children)s::int)
    ),
    queue => %(queue)s
);
