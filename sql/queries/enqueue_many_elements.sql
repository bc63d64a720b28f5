-- The elements of the array $1, which were checked before, each with its ordinal, id, position and the arguments
-- of enqueue. Ids and positions follow the array.
WITH input AS MATERIALIZED (
    SELECT
        element.ord,
        nextval('turnstile.job_id_seq') AS id,
        nextval('turnstile.job_position_seq') AS position,
        job.*
    FROM ROWS FROM (jsonb_array_elements($1)) WITH ORDINALITY AS element (value, ord),
        jsonb_to_record(element.value) AS job (
            kind text, payload jsonb, queue text, tenant text, account text, session text,
            concurrency_key text, priority int, run_at timestamptz, max_attempts int, metadata jsonb,
            unique_key text, unique_mode text, unique_for interval, unique_by text[]
        )
)
SELECT
    input.kind, coalesce(input.payload, '{}'), input.queue, input.tenant, input.account,
    input.session, input.concurrency_key, coalesce(input.priority, 0), input.run_at, input.max_attempts,
    input.metadata, input.ord::int, input.id, input.position, input.unique_key,
    coalesce(input.unique_mode, 'until_executed'), input.unique_for, input.unique_by
FROM input
ORDER BY input.ord
