-- How many jobs have ended, how many of them were discarded, and those that have stayed so.
SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        (SELECT pg_catalog.count(*) FROM ended) AS ended,
        (SELECT pg_catalog.count(*) FROM ended WHERE ended.state = 'discarded') AS discarded,
        coalesce((SELECT pg_catalog.json_agg(grouped) FROM grouped), '[]') AS groups
) AS found
