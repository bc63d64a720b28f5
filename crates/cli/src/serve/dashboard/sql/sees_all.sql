-- Whether the role sees all jobs in my_jobs.
SELECT pg_catalog.to_json(
    EXISTS (
        SELECT
        FROM turnstile.permissions
        WHERE permissions.role_exists AND permissions.verb IN ('see', '*') AND permissions.queue = '*' AND permissions.tenant = '*'
            AND pg_catalog.pg_has_role(permissions.role::pg_catalog.regrole, 'USAGE')
    ) OR EXISTS (
        SELECT
        FROM pg_catalog.pg_class
        WHERE pg_class.oid = 'turnstile.job'::pg_catalog.regclass AND pg_catalog.pg_has_role(pg_class.relowner, 'USAGE')
    )
)::text
