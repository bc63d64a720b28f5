        -- Documents of more than $2 bytes are left out, and of the failed attempts the last 50 are given, the newest first.
        , pg_catalog.json_build_object(
            'progress', jobs.progress,
            'payload', CASE WHEN payload.bytes <= $2 THEN jobs.payload END, 'payload_bytes', payload.bytes,
            'result', CASE WHEN result.bytes <= $2 THEN jobs.result END, 'result_bytes', result.bytes,
            'metadata', CASE WHEN metadata.bytes <= $2 THEN jobs.metadata END, 'metadata_bytes', metadata.bytes,
            'failures', failed.failures, 'attempts', failed.attempts
        ) AS documents
    FROM (
        SELECT my_jobs.*
        FROM turnstile.my_jobs
        WHERE my_jobs.id = $1
        ORDER BY my_jobs.finished_at DESC NULLS FIRST
        LIMIT 1
    ) AS jobs
    CROSS JOIN LATERAL (SELECT pg_catalog.octet_length(jobs.payload::text) AS bytes) AS payload
    CROSS JOIN LATERAL (SELECT pg_catalog.octet_length(jobs.result::text) AS bytes) AS result
    CROSS JOIN LATERAL (SELECT pg_catalog.octet_length(jobs.metadata::text) AS bytes) AS metadata
    CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS failures,
            coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
                'attempt', last.error ->> 'attempt',
                'at', CASE WHEN last.error ->> 'at' ~ '^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:' THEN
                    extract(epoch FROM (last.error ->> 'at')::pg_catalog.timestamptz)::float8
                END,
                'worker', last.error ->> 'worker',
                'error', pg_catalog.left(last.error ->> 'error', 20000)
            ) ORDER BY last.number DESC) FILTER (WHERE last.back <= 50), '[]') AS attempts
        FROM (
            SELECT errors.error, errors.number, pg_catalog.row_number() OVER (ORDER BY errors.number DESC) AS back
            FROM pg_catalog.jsonb_array_elements(
                CASE WHEN pg_catalog.jsonb_typeof(jobs.errors) = 'array' THEN jobs.errors ELSE '[]' END
            ) WITH ORDINALITY AS errors (error, number)
        ) AS last
    ) AS failed
) AS found
