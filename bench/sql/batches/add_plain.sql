SELECT count(*)
FROM turnstile.enqueue_many((
    SELECT jsonb_agg(jsonb_build_object('kind', 'child', 'queue', %(queue)s::text, 'payload', %(payload)s::jsonb))
    FROM generate_series(1, %(children)s::int)
));
