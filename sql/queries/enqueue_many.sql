-- Adds the jobs of the array $1, whose elements were checked before. Ids and positions follow the array.
WITH input AS MATERIALIZED (
    SELECT
        element.ord,
        nextval('turnstile.job_id_seq') AS id,
        nextval('turnstile.job_position_seq') AS position,
        job.*
    FROM ROWS FROM (jsonb_array_elements($1)) WITH ORDINALITY AS element (value, ord),
        jsonb_to_record(element.value) AS job (
            kind text, payload jsonb, queue text, tenant text, account text, session text,
            concurrency_key text, priority int, run_at timestamptz, max_attempts int, metadata jsonb
        )
), added AS (
    INSERT INTO turnstile.job (
        id, position, kind, payload, queue, tenant, account, session, concurrency_key, priority, run_at,
        max_attempts, metadata
    )
    SELECT
        input.id, input.position, input.kind, coalesce(input.payload, '{}'), coalesce(input.queue, 'default'),
        input.tenant, input.account, input.session, input.concurrency_key, coalesce(input.priority, 0),
        coalesce(input.run_at, clock_timestamp()),
        coalesce(
            input.max_attempts,
            (SELECT queue.max_attempts FROM turnstile.queue WHERE queue.name = coalesce(input.queue, 'default')),
            (SELECT queue.max_attempts FROM turnstile.queue WHERE queue.name = '*'),
            25
        ),
        input.metadata
    FROM input
)
SELECT input.ord::int, input.id, true FROM input ORDER BY input.ord
