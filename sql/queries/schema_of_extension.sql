-- The schema that the extension has made for users: the name that it has now.
SELECT pg_namespace.nspname::text
FROM pg_extension
JOIN pg_depend ON pg_depend.refclassid = 'pg_extension'::regclass AND pg_depend.refobjid = pg_extension.oid AND pg_depend.deptype = 'e'
JOIN pg_namespace ON pg_depend.classid = 'pg_namespace'::regclass AND pg_depend.objid = pg_namespace.oid
WHERE pg_extension.extname = 'turnstile' AND EXISTS (
    SELECT FROM pg_class WHERE pg_class.relnamespace = pg_namespace.oid AND pg_class.relname = 'job'
)
