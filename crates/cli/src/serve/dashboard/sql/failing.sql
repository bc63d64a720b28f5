SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT grouped.*
    FROM grouped
    ORDER BY grouped.jobs DESC, grouped.last_at DESC
) AS found
