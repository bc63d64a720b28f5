-- What the firing $2 of the recurring job $1 enqueues, and with whose rights. The job's metadata says which firing it is.
SELECT
    recurring.kind, recurring.payload, recurring.queue, recurring.tenant, recurring.account, recurring.session,
    recurring.concurrency_key, recurring.priority, recurring.max_attempts, recurring.unique_key, recurring.unique_mode,
    recurring.unique_for,
    CASE pg_catalog.jsonb_typeof(coalesce(recurring.metadata, '{}'))
        WHEN 'object' THEN coalesce(recurring.metadata, '{}') || pg_catalog.jsonb_build_object(
            'recurring', recurring.name,
            'firing', pg_catalog.to_char($2 AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        )
        ELSE recurring.metadata
    END,
    recurring.unique_by, recurring.unique_states, role.oid::bigint,
    pg_catalog.has_schema_privilege(role.oid, 'turnstile', 'USAGE'), recurring.owner::text
FROM turnstile.recurring
LEFT JOIN pg_catalog.pg_roles AS role ON role.rolname = recurring.owner
WHERE recurring.name = $1
