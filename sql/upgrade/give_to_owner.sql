-- What this script has made belongs to who runs it, who may be another than the owner of the extension. Functions work with the
-- rights of their owner, and the owner of the extension grants EXECUTE on them. What was there before has initial privileges.
DO $block$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT 'TABLE' AS kind, rel.oid::pg_catalog.regclass::text AS name, dep.classid AS class, rel.oid AS object, rel.relowner AS owner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_class AS rel ON dep.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND rel.oid = dep.objid
        WHERE dep.deptype = 'e' AND rel.relnamespace = 'turnstile'::pg_catalog.regnamespace AND rel.relkind IN ('r', 'p', 'v', 'S')
            AND NOT EXISTS (
                -- A sequence of a column goes with its table.
                SELECT FROM pg_catalog.pg_depend AS of
                WHERE of.classid = dep.classid AND of.objid = rel.oid AND of.refobjsubid > 0 AND of.deptype IN ('a', 'i')
                    AND rel.relkind = 'S'
            )
        UNION ALL
        SELECT 'ROUTINE', proc.oid::pg_catalog.regprocedure::text, dep.classid, proc.oid, proc.proowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_proc AS proc ON dep.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND proc.oid = dep.objid
        WHERE dep.deptype = 'e' AND proc.pronamespace IN (SELECT nsp.oid FROM pg_catalog.pg_namespace AS nsp WHERE nsp.nspname IN ('turnstile', 'turnstile_internal'))
        UNION ALL
        SELECT 'SCHEMA', pg_catalog.quote_ident(nsp.nspname), dep.classid, nsp.oid, nsp.nspowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_namespace AS nsp ON dep.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND nsp.oid = dep.objid
        WHERE dep.deptype = 'e' AND nsp.nspname IN ('turnstile', 'turnstile_internal')
        UNION ALL
        SELECT 'TYPE', typ.oid::pg_catalog.regtype::text, dep.classid, typ.oid, typ.typowner
        FROM pg_catalog.pg_depend AS dep
        JOIN pg_catalog.pg_type AS typ ON dep.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND typ.oid = dep.objid
        WHERE dep.deptype = 'e' AND typ.typnamespace = 'turnstile'::pg_catalog.regnamespace AND (typ.typtype <> 'b' OR typ.typcategory <> 'A')
            -- Newer servers count the row type of a table in, which goes with it.
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS rel WHERE rel.oid = typ.typrelid AND rel.relkind <> 'c')
    LOOP
        IF made.owner = (SELECT me.oid FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user) AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_init_privs AS initial WHERE initial.classoid = made.class AND initial.objoid = made.object
        ) THEN
            EXECUTE pg_catalog.format('ALTER %s %s OWNER TO %s', made.kind, made.name, (
                SELECT ext.extowner::pg_catalog.regrole::text FROM pg_catalog.pg_extension AS ext WHERE ext.extname = 'turnstile'
            ));
        END IF;
    END LOOP;
END
$block$;
