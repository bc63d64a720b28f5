-- What users have granted, by name: a function whose arguments change, or a table that is built anew, is dropped with its grants.
-- In a setting of this transaction, since an object that a script makes belongs to the extension.
SELECT pg_catalog.set_config('turnstile_upgrade.grants', coalesce((
    SELECT pg_catalog.jsonb_agg(DISTINCT pg_catalog.jsonb_build_object(
        'kind', made.kind, 'object', made.object, 'name', made.name, 'part', made.part, 'privilege', acl.privilege_type,
        'grantee', acl.grantee, 'grantable', acl.is_grantable
    ))::text
    FROM (
        SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, rel.relname AS name, NULL::name AS part,
            rel.oid AS object, rel.relowner AS owner, rel.relacl AS acl
        FROM pg_catalog.pg_class AS rel WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace
        UNION ALL
        SELECT 'TABLE', rel.relname, att.attname, rel.oid, rel.relowner, att.attacl
        FROM pg_catalog.pg_attribute AS att JOIN pg_catalog.pg_class AS rel ON rel.oid = att.attrelid
        WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace AND NOT att.attisdropped
        UNION ALL
        SELECT 'ROUTINE', proc.proname, NULL, proc.oid, proc.proowner, proc.proacl
        FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace IN (SELECT nsp.oid FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname IN ('turnstile', 'turnstile_internal'))
    ) AS made, pg_catalog.aclexplode(made.acl) AS acl
    WHERE acl.grantee <> made.owner
), '[]'), true);
