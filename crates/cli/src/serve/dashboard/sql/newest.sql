-- The highest id that was drawn. NULL: the role may not know it.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT CASE WHEN pg_catalog.has_sequence_privilege('turnstile.job_id_seq', 'SELECT') THEN
        coalesce(pg_catalog.pg_sequence_last_value('turnstile.job_id_seq'::pg_catalog.regclass), 0)
    END AS id
) AS found
