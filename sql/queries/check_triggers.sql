-- The triggers of the extension that do not fire always: (table, trigger).
SELECT pg_trigger.tgrelid::regclass::text, quote_ident(pg_trigger.tgname)
FROM pg_trigger
JOIN pg_class ON pg_class.oid = pg_trigger.tgrelid
JOIN pg_proc ON pg_proc.oid = pg_trigger.tgfoid
WHERE pg_class.relnamespace = 'turnstile'::regnamespace AND pg_proc.pronamespace = 'turnstile_internal'::regnamespace
    AND NOT pg_trigger.tgisinternal AND pg_trigger.tgenabled <> 'A'
ORDER BY 1, 2
