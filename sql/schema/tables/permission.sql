-- Permissions. EXECUTE says which functions a role may call, a row here on what. Nothing is granted to PUBLIC, and
-- a role without a row can do nothing, whatever it may call. Superusers and the owner may do everything.

CREATE TABLE turnstile.permission (
    role regrole NOT NULL,
    verb text NOT NULL,
    queue text NOT NULL DEFAULT '*',
    tenant text NOT NULL DEFAULT '*',
    CONSTRAINT permission_pkey PRIMARY KEY (role, verb, queue, tenant),
    CONSTRAINT permission_verb_check CHECK (verb IN ('enqueue', 'work', 'manage', 'see', '*')),
    CONSTRAINT permission_queue_check CHECK (queue <> '' AND octet_length(queue) <= 255),
    CONSTRAINT permission_tenant_check CHECK (tenant <> '' AND octet_length(tenant) <= 255),
    CONSTRAINT permission_work_check CHECK (verb <> 'work' OR tenant = '*')
);
COMMENT ON TABLE turnstile.permission IS
    'What roles may do, with all their members. * stands for all. allow_producer() and the like write it; plain DML works as well. A change applies from its commit on.';
COMMENT ON COLUMN turnstile.permission.role IS
    'The role. It may be renamed; a row of a role that was dropped allows nothing.';
COMMENT ON COLUMN turnstile.permission.verb IS
    'enqueue: add jobs. work: claim jobs and end runs. manage: cancel, discard, retry, reprioritize, and on all queues and tenants settings and upkeep. see: read my_jobs. *: all of them.';
COMMENT ON COLUMN turnstile.permission.queue IS 'The queue that the row is for; for enqueue the queue after routing.';
COMMENT ON COLUMN turnstile.permission.tenant IS
    'The tenant that the row is for. Jobs without a tenant are under * only, and work is for all tenants of a queue.';

-- By name, as a dump writes roles. A number would be another role's where the dump is restored.
SELECT pg_catalog.pg_extension_config_dump(
    'turnstile.permission', 'WHERE EXISTS (SELECT FROM pg_catalog.pg_roles WHERE pg_roles.oid = permission.role)'
);

CREATE FUNCTION turnstile_internal.permissions_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_permissions_changed';
COMMENT ON FUNCTION turnstile_internal.permissions_changed() IS
    'Makes every backend read the permissions again.';
CREATE TRIGGER publish_permissions AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.permission
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.permissions_changed();
ALTER TABLE turnstile.permission ENABLE ALWAYS TRIGGER publish_permissions;

CREATE VIEW turnstile.permissions AS
    SELECT
        coalesce(quote_ident(pg_roles.rolname), permission.role::oid::text) AS role,
        pg_roles.oid IS NOT NULL AS role_exists,
        permission.verb, permission.queue, permission.tenant
    FROM turnstile.permission
    LEFT JOIN pg_catalog.pg_roles ON pg_roles.oid = permission.role;
COMMENT ON VIEW turnstile.permissions IS 'turnstile.permission with the names of roles.';
COMMENT ON COLUMN turnstile.permissions.role IS 'The name of the role; the number of a role that was dropped.';
COMMENT ON COLUMN turnstile.permissions.role_exists IS 'False: the role was dropped. disallow() deletes such rows.';
