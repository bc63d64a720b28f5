-- What the extension installs: documented, closed to PUBLIC, safe from search_path, and wired up.

-- Every object that belongs to the extension, columns and constraints aside; and arrays and row types, which some servers count
SELECT pg_describe_object(classid, objid, objsubid) AS object
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'turnstile')
    AND NOT EXISTS (
        SELECT
        FROM pg_type
        LEFT JOIN pg_class ON pg_class.oid = typrelid
        WHERE classid = 'pg_type'::regclass AND pg_type.oid = objid AND (typcategory = 'A' OR relkind <> 'c')
    )
ORDER BY pg_describe_object(classid, objid, objsubid) COLLATE "C";

-- Functions: rights (those in C switch to their owner by themselves), pinned path, comment
SELECT
    proname AS function,
    CASE WHEN prosecdef THEN 'definer' ELSE 'invoker' END AS rights,
    'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}')) AS pinned,
    proisstrict AS strict,
    provolatile AS volatility,
    obj_description(oid, 'pg_proc') IS NOT NULL AS comment
FROM pg_proc
WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)
ORDER BY proname COLLATE "C";

-- Tables and views have a comment, and so have the columns of settings
SELECT relname AS relation, obj_description(oid, 'pg_class') IS NOT NULL AS comment
FROM pg_class
WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v')
    AND (NOT relispartition OR relname = 'job_history_default')
ORDER BY relname COLLATE "C";
SELECT relname AS relation, attname AS column_without_comment
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'turnstile'::regnamespace AND relname IN ('queue', 'tenant', 'account', 'concurrency', 'route', 'endpoint', 'slowed_key', 'retry_curve')
    AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('name', 'tenant', 'key')
    AND col_description(attrelid, attnum) IS NULL
ORDER BY relname COLLATE "C", attnum;

-- Nothing is granted to PUBLIC
SELECT object
FROM (
    SELECT nspname::text, coalesce(nspacl, acldefault('n', nspowner))
    FROM pg_namespace WHERE nspname IN ('turnstile', 'turnstile_internal')
    UNION ALL
    SELECT oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner))
    FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)
    UNION ALL
    SELECT oid::regclass::text, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
    FROM pg_class WHERE relnamespace = 'turnstile'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
    UNION ALL
    SELECT attrelid::regclass || '.' || attname, attacl
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'turnstile'::regnamespace AND attacl IS NOT NULL
) AS thing (object, acl), aclexplode(acl)
WHERE grantee = 0
ORDER BY object COLLATE "C";

-- Triggers fire always (A), under session_replication_role = replica too
SELECT tgrelid::regclass AS relation, tgname AS trigger, tgenabled AS enabled
FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = 'turnstile'::regnamespace AND NOT tgisinternal
ORDER BY relname COLLATE "C", tgname COLLATE "C";

-- Indexes and constraints
SELECT indexrelid::regclass AS index, pg_get_indexdef(indexrelid) AS definition
FROM pg_index
JOIN pg_class ON pg_class.oid = indrelid
WHERE relnamespace = 'turnstile'::regnamespace AND relname IN ('job', 'job_history')
ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT conrelid::regclass AS relation, conname AS constraint, pg_get_constraintdef(pg_constraint.oid) AS definition
FROM pg_constraint
WHERE connamespace = 'turnstile'::regnamespace AND conrelid <> 0 AND contype = 'c'
ORDER BY conrelid::regclass::text COLLATE "C", conname COLLATE "C";

-- What a dump carries
SELECT relname AS relation, condition
FROM pg_extension, unnest(extconfig, extcondition) AS dumped (oid, condition)
JOIN pg_class USING (oid)
WHERE extname = 'turnstile'
ORDER BY relname COLLATE "C";
