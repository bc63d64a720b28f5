SELECT count(*)
FROM turnstile.enqueue_many((
    SELECT jsonb_agg(jsonb_build_object('kind', 'bench', 'payload', %(payload)s::jsonb))
    FROM generate_series(1, %(number)s::int)
));
