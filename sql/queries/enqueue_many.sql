-- Adds the jobs of the array $1, whose elements were checked before. Ids and positions follow the array.
-- Routes of kinds $2: queue $3, priority offset $4, override $5, concurrency key $6, at the same place of the arrays.
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
), routed AS (
    SELECT
        input.id, input.position, input.kind, coalesce(input.payload, '{}') AS payload,
        coalesce(route.queue, input.queue, 'default') AS queue, input.tenant, input.account, input.session,
        CASE WHEN route.override
            THEN coalesce(route.concurrency_key, input.concurrency_key)
            ELSE coalesce(input.concurrency_key, route.concurrency_key)
        END AS concurrency_key,
        least(greatest(
            coalesce(input.priority, 0)::bigint + coalesce(route.priority_offset, 0), -2147483648
        ), 2147483647)::int AS priority,
        coalesce(input.run_at, clock_timestamp()) AS run_at, input.max_attempts, input.metadata
    FROM input
    LEFT JOIN unnest($2, $3, $4, $5, $6) AS route (kind, queue, priority_offset, override, concurrency_key)
        ON route.kind = input.kind AND (route.override OR input.queue IS NULL)
), added AS (
    INSERT INTO turnstile.job (
        id, position, kind, payload, queue, tenant, account, session, concurrency_key, priority, run_at,
        max_attempts, metadata
    )
    SELECT
        routed.id, routed.position, routed.kind, routed.payload, routed.queue, routed.tenant, routed.account,
        routed.session, routed.concurrency_key, routed.priority, routed.run_at,
        coalesce(
            routed.max_attempts,
            (SELECT queue.max_attempts FROM turnstile.queue WHERE queue.name = routed.queue),
            (SELECT queue.max_attempts FROM turnstile.queue WHERE queue.name = '*'),
            25
        ),
        routed.metadata
    FROM routed
)
SELECT input.ord::int, input.id, true FROM input ORDER BY input.ord
