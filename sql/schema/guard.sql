-- Before anything else, and with nothing that is looked up by the search path.
SET LOCAL search_path = pg_catalog, pg_temp;
-- Claims find rows in heaps only.
SET LOCAL default_table_access_method = heap;

-- The schemas are part of the extension, and go with it: one for users, and one for what only the extension calls. One that exists already is
-- taken if it is empty, and if only roles that could change the extension anyway can create objects in it: another role may have
-- filled it with operators and functions.
DO $block$
DECLARE
    home text;
    schema oid;
    owner name;
    is_safe boolean;
    found text;
BEGIN
    FOREACH home IN ARRAY ARRAY['turnstile', 'turnstile_internal'] LOOP
        SELECT nsp.oid, role.rolname,
            (nsp.nspowner = (SELECT me.oid FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user) OR role.rolsuper)
            AND NOT EXISTS (
                SELECT FROM pg_catalog.aclexplode(nsp.nspacl) AS acl
                LEFT JOIN pg_catalog.pg_roles AS other ON other.oid = acl.grantee
                WHERE acl.privilege_type = 'CREATE' AND acl.grantee <> nsp.nspowner AND other.rolsuper IS NOT TRUE
            )
        INTO schema, owner, is_safe
        FROM pg_catalog.pg_namespace AS nsp
        LEFT JOIN pg_catalog.pg_roles AS role ON role.oid = nsp.nspowner
        WHERE nsp.nspname = home;
        IF schema IS NULL THEN
            EXECUTE pg_catalog.format('CREATE SCHEMA %I', home);
            CONTINUE;
        END IF;
        IF is_safe IS NOT TRUE THEN
            RAISE EXCEPTION 'schema "%" is not safe to install into', home USING ERRCODE = '42501',
                DETAIL = pg_catalog.format('It belongs to "%s", or others may create objects in it.', owner),
                HINT = 'Look at what is in it. Then drop the schema, or change its owner and revoke CREATE on it.';
        END IF;
        SELECT pg_catalog.string_agg(thing.name, ', ') INTO found
        FROM (
            SELECT pg_catalog.pg_describe_object(dep.classid, dep.objid, dep.objsubid) AS name
            FROM pg_catalog.pg_depend AS dep
            WHERE dep.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND dep.refobjid = schema
            LIMIT 10
        ) AS thing;
        IF found IS NOT NULL THEN
            RAISE EXCEPTION 'schema "%" is not empty', home USING ERRCODE = '55000',
                DETAIL = pg_catalog.format('It contains: %s.', found),
                HINT = 'The extension needs schemas of its own. Move or drop these objects.';
        END IF;
        EXECUTE pg_catalog.format('ALTER EXTENSION turnstile ADD SCHEMA %I', home);
    END LOOP;
END
$block$;
