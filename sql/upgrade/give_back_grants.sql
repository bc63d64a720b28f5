-- Users' grants on what was made anew under its name. They are not the extension's own: without the last three statements a
-- dump would leave them out.
DO $block$
DECLARE
    lost record;
BEGIN
    FOR lost IN
        SELECT DISTINCT known.kind, known.part, known.privilege, known.grantable, made.class, made.object, made.name, made.owner,
            CASE known.grantee WHEN 0 THEN 'PUBLIC' ELSE known.grantee::pg_catalog.regrole::text END AS role
        FROM pg_catalog.jsonb_to_recordset(pg_catalog.current_setting('turnstile_upgrade.grants')::pg_catalog.jsonb)
            AS known (kind text, object oid, name name, part name, privilege text, grantee oid, grantable boolean)
        JOIN (
            SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, rel.relname AS key,
                'pg_catalog.pg_class'::pg_catalog.regclass AS class, rel.oid AS object, rel.oid::pg_catalog.regclass::text AS name,
                rel.relowner AS owner, rel.relacl AS acl
            FROM pg_catalog.pg_class AS rel WHERE rel.relnamespace = 'turnstile'::pg_catalog.regnamespace
            UNION ALL
            SELECT 'ROUTINE', proc.proname, 'pg_catalog.pg_proc'::pg_catalog.regclass, proc.oid,
                proc.oid::pg_catalog.regprocedure::text, proc.proowner, proc.proacl
            FROM pg_catalog.pg_proc AS proc WHERE proc.pronamespace IN (SELECT nsp.oid FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname IN ('turnstile', 'turnstile_internal')) AND EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND dep.objid = proc.oid AND dep.deptype = 'e'
            )
            UNION ALL
            SELECT 'SCHEMA', nsp.nspname, 'pg_catalog.pg_namespace'::pg_catalog.regclass, nsp.oid, pg_catalog.quote_ident(nsp.nspname),
                nsp.nspowner, nsp.nspacl
            FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname = 'turnstile_internal'
        ) AS made ON made.kind = known.kind AND made.key = known.name
        LEFT JOIN pg_catalog.pg_attribute AS att ON made.kind = 'TABLE' AND att.attrelid = made.object AND att.attname = known.part
        -- What is still there has its grants, and may be a user's function that only shares the name.
        WHERE (known.object = made.object OR NOT CASE known.kind
                WHEN 'ROUTINE' THEN EXISTS (SELECT FROM pg_catalog.pg_proc AS proc WHERE proc.oid = known.object)
                ELSE EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = known.object)
            END)
            AND (known.part IS NULL OR att.attname IS NOT NULL) AND NOT EXISTS (
            SELECT FROM pg_catalog.aclexplode(CASE WHEN known.part IS NULL THEN made.acl ELSE att.attacl END) AS acl
            WHERE acl.grantee = known.grantee AND acl.privilege_type = known.privilege AND acl.is_grantable >= known.grantable
        )
    LOOP
        EXECUTE pg_catalog.format('GRANT %s%s ON %s %s TO %s%s', lost.privilege, ' (' || pg_catalog.quote_ident(lost.part) || ')',
            lost.kind, lost.name, lost.role, CASE WHEN lost.grantable THEN ' WITH GRANT OPTION' END);
        DELETE FROM pg_catalog.pg_init_privs AS initial
        WHERE initial.classoid = lost.class AND initial.objoid = lost.object
            AND NOT EXISTS (SELECT FROM pg_catalog.aclexplode(initial.initprivs) AS acl WHERE acl.grantee = lost.owner);
        UPDATE pg_catalog.pg_init_privs AS initial SET initprivs = ARRAY(
            SELECT item FROM pg_catalog.unnest(initial.initprivs) AS item
            WHERE NOT EXISTS (SELECT FROM pg_catalog.aclexplode(ARRAY[item]) AS acl WHERE acl.grantee <> lost.owner)
        )
        WHERE initial.classoid = lost.class AND initial.objoid = lost.object;
        DELETE FROM pg_catalog.pg_shdepend AS dep
        WHERE dep.deptype = 'i' AND dep.classid = lost.class AND dep.objid = lost.object AND dep.refobjid <> lost.owner
            AND dep.dbid = (SELECT base.oid FROM pg_catalog.pg_database AS base WHERE base.datname = pg_catalog.current_database());
    END LOOP;
END
$block$;
