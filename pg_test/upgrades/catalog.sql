-- What there is in the schema turnstile, and what users have added, whose names begin with my_: a row for each fact. Nothing
-- that depends on when or in which order things were made, but for the order of columns.
WITH extension AS (
    SELECT * FROM pg_extension WHERE extname = 'turnstile'
), relation AS (
    SELECT * FROM pg_class
    WHERE relnamespace = 'turnstile'::regnamespace OR (relname LIKE 'my\_%' AND relnamespace = 'public'::regnamespace)
), routine AS (
    SELECT * FROM pg_proc
    WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) OR (proname LIKE 'my\_%' AND pronamespace = 'public'::regnamespace)
), access (class, object, part, kind, owner, acl) AS (
    SELECT 'pg_namespace'::regclass, oid, 0, 'n', nspowner, nspacl FROM pg_namespace WHERE nspname IN ('turnstile', 'turnstile_internal')
    UNION ALL
    SELECT 'pg_class'::regclass, oid, 0, CASE relkind WHEN 'S' THEN 's' ELSE 'r' END, relowner, relacl
    FROM relation WHERE relkind IN ('r', 'p', 'v', 'm', 'S')
    UNION ALL
    SELECT 'pg_class'::regclass, attrelid, attnum, 'c', NULL, attacl
    FROM pg_attribute JOIN relation ON relation.oid = attrelid WHERE attacl IS NOT NULL AND NOT attisdropped
    UNION ALL
    SELECT 'pg_proc'::regclass, oid, 0, 'f', proowner, proacl FROM routine
    UNION ALL
    SELECT 'pg_type'::regclass, oid, 0, 'T', typowner, typacl FROM pg_type
    WHERE typnamespace = 'turnstile'::regnamespace AND typelem = 0
), column_of AS (
    SELECT att.*, relation.oid::regclass AS of, row_number() OVER (
        PARTITION BY attrelid, attname LIKE 'my\_%' ORDER BY attnum
    ) AS place
    FROM pg_attribute AS att JOIN relation ON relation.oid = attrelid
    WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p', 'v', 'm', 'c')
)
SELECT 'extension' AS thing, 'itself' AS fact,
    concat_ws(', ', extnamespace::regnamespace, extowner::regrole, extrelocatable, obj_description(oid, 'pg_extension')) AS value
FROM extension
UNION ALL
SELECT 'extension', 'dumps ' || config.relation::regclass, config.condition
FROM extension, unnest(extconfig, extcondition) AS config (relation, condition)
UNION ALL
SELECT pg_describe_object(classid, objid, objsubid), 'belongs to the extension', deptype::text
FROM pg_depend JOIN extension ON refobjid = extension.oid WHERE refclassid = 'pg_extension'::regclass
UNION ALL
SELECT pg_describe_object(class, object, part), 'privilege ' || concat_ws(' ', grantee::regrole, privilege_type, is_grantable), grantor::regrole::text
FROM access, aclexplode(coalesce(acl, acldefault(kind::"char", owner)))
UNION ALL
SELECT pg_describe_object(classoid, objoid, objsubid),
    'initial privilege ' || concat_ws(' ', grantee::regrole, privilege_type, is_grantable), privtype::text
FROM pg_init_privs JOIN access ON class = classoid AND object = objoid AND part = objsubid, aclexplode(initprivs)
UNION ALL
SELECT 'privileges by default', concat_ws(' ', defaclrole::regrole, defaclobjtype, defaclacl), ''
FROM pg_default_acl WHERE defaclnamespace = 'turnstile'::regnamespace
UNION ALL
SELECT pg_describe_object(class, object, part), 'owner', owner::regrole::text FROM access WHERE owner IS NOT NULL
UNION ALL
SELECT pg_describe_object(classoid, objoid, objsubid), 'comment', description
FROM pg_description WHERE objoid IN (
    SELECT object FROM access
    UNION ALL SELECT indexrelid FROM pg_index JOIN relation ON relation.oid = indrelid
    UNION ALL SELECT con.oid FROM pg_constraint AS con JOIN relation ON relation.oid = conrelid
    UNION ALL SELECT trg.oid FROM pg_trigger AS trg JOIN relation ON relation.oid = tgrelid
    UNION ALL SELECT pol.oid FROM pg_policy AS pol JOIN relation ON relation.oid = polrelid
)
UNION ALL
SELECT 'function ' || oid::regprocedure, 'definition',
    CASE WHEN prokind IN ('f', 'p') THEN pg_get_functiondef(oid) ELSE prokind::text END
FROM routine
UNION ALL
SELECT 'relation ' || relation.oid::regclass, fact, value
FROM relation
LEFT JOIN pg_am ON pg_am.oid = relam
LEFT JOIN pg_class AS toast ON toast.oid = relation.reltoastrelid, LATERAL (VALUES
    ('kind', concat_ws(' ', relation.relkind, relation.relpersistence, relation.relispartition, amname)),
    ('options', array_to_string(ARRAY(SELECT unnest(relation.reloptions) ORDER BY 1), ', ')),
    ('options of its long values', array_to_string(ARRAY(SELECT unnest(toast.reloptions) ORDER BY 1), ', ')),
    ('replica identity', relation.relreplident::text),
    ('row security', concat_ws(' ', relation.relrowsecurity, relation.relforcerowsecurity)),
    ('partition of', (SELECT string_agg(inhparent::regclass::text, ', ') FROM pg_inherits WHERE inhrelid = relation.oid)),
    ('partitions by', CASE relation.relkind WHEN 'p' THEN pg_get_partkeydef(relation.oid) END),
    ('bound', pg_get_expr(relation.relpartbound, relation.oid)),
    ('view', CASE WHEN relation.relkind IN ('v', 'm') THEN pg_get_viewdef(relation.oid) END)
) AS of (fact, value)
WHERE relation.relkind <> 'i' AND value <> ''
UNION ALL
SELECT 'column ' || of || '.' || attname, fact, value
FROM column_of LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum, LATERAL (VALUES
    ('place', place::text),
    ('type', format_type(atttypid, atttypmod)),
    ('needs a value', attnotnull::text),
    ('default', concat_ws(' ', pg_get_expr(adbin, adrelid), attidentity, attgenerated)),
    ('collation', attcollation::regcollation::text),
    -- Servers may stamp columns on their own account when they are made.
    ('options', array_to_string(ARRAY(SELECT option FROM unnest(attoptions) AS option WHERE option NOT LIKE 'pg\_attver=%' ORDER BY 1), ', ')),
    ('statistics', attstattarget::text),
    ('storage', attstorage::text || attcompression::text)
) AS described (fact, value)
UNION ALL
SELECT 'constraint ' || relation.oid::regclass || ' ' || conname, 'definition',
    concat_ws(' ', pg_get_constraintdef(con.oid), convalidated, conislocal, connoinherit)
FROM pg_constraint AS con JOIN relation ON relation.oid = conrelid
UNION ALL
SELECT 'index ' || indexrelid::regclass, 'definition',
    concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid, indisready, indisclustered, indisreplident)
FROM pg_index JOIN relation ON relation.oid = indrelid
UNION ALL
SELECT 'trigger ' || relation.oid::regclass || ' ' || tgname, 'definition', tgenabled::text || ' ' || pg_get_triggerdef(trg.oid)
FROM pg_trigger AS trg JOIN relation ON relation.oid = tgrelid WHERE NOT tgisinternal
UNION ALL
SELECT 'rule ' || relation.oid::regclass || ' ' || rulename, 'definition', ev_enabled::text || ' ' || pg_get_ruledef(rule.oid)
FROM pg_rewrite AS rule JOIN relation ON relation.oid = ev_class WHERE rulename <> '_RETURN'
UNION ALL
SELECT 'policy ' || relation.oid::regclass || ' ' || polname, 'definition', concat_ws(
    ' ', polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)
)
FROM pg_policy JOIN relation ON relation.oid = polrelid
UNION ALL
SELECT 'sequence ' || seqrelid::regclass, 'definition', concat_ws(
    ' ', seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle, (
        SELECT string_agg(pg_describe_object(refclassid, refobjid, refobjsubid), ', ') FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = seqrelid AND deptype IN ('a', 'i')
    )
)
FROM pg_sequence JOIN relation ON relation.oid = seqrelid
UNION ALL
SELECT 'statistics ' || stxname, 'definition', pg_get_statisticsobjdef(sta.oid)
FROM pg_statistic_ext AS sta JOIN relation ON relation.oid = stxrelid
UNION ALL
SELECT 'type ' || typ.oid::regtype, 'definition', concat_ws(' ', typtype, typbasetype::regtype, typdefault, typnotnull, (
    SELECT string_agg(enumlabel, ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = typ.oid
))
FROM pg_type AS typ WHERE typnamespace = 'turnstile'::regnamespace
