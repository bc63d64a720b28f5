-- Nothing is granted to PUBLIC: an administrator grants EXECUTE to producers and workers. Only what this script has made has no
-- initial privileges yet. On the rest a user may have granted something, which a REVOKE here would turn into initial privileges,
-- and those are not in a dump. Rows are types, too: a column of such a type in a table of another role would keep the extension
-- from being dropped.
DO $block$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT 'SCHEMA' AS kind, nsp.nspname::text AS name, 'pg_catalog.pg_namespace'::pg_catalog.regclass AS class, nsp.oid AS object
        FROM pg_catalog.pg_namespace AS nsp
        WHERE nsp.nspname IN ('turnstile', 'turnstile_internal')
        UNION ALL
        SELECT CASE rel.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, rel.oid::pg_catalog.regclass::text, dep.classid, rel.oid
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_class AS rel ON dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND rel.oid = dep.objid
        JOIN pg_catalog.pg_extension AS ext ON dep.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND ext.oid = dep.refobjid
        WHERE ext.extname = 'turnstile' AND rel.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL
        SELECT 'ROUTINE', proc.oid::pg_catalog.regprocedure::text, dep.classid, proc.oid
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_proc AS proc ON dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND proc.oid = dep.objid
        JOIN pg_catalog.pg_extension AS ext ON dep.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND ext.oid = dep.refobjid
        WHERE ext.extname = 'turnstile'
        UNION ALL
        SELECT 'TYPE', typ.oid::pg_catalog.regtype::text, 'pg_catalog.pg_type'::pg_catalog.regclass, typ.oid
        FROM pg_catalog.pg_type AS typ
        WHERE typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND typ.typtype = 'c' AND (
            EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = typ.typrelid AND rel.relispartition)
            OR EXISTS (
                SELECT FROM pg_catalog.pg_depend AS dep
                WHERE dep.deptype = 'e' AND (
                    (dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND dep.objid = typ.typrelid)
                    OR (dep.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND dep.objid = typ.oid)
                )
            )
        )
    LOOP
        IF NOT EXISTS (
            SELECT FROM pg_catalog.pg_init_privs AS initial WHERE initial.classoid = made.class AND initial.objoid = made.object
        ) THEN
            EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM PUBLIC', made.kind, made.name);
        END IF;
    END LOOP;
END
$block$;
