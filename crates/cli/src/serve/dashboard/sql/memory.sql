SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT memory.database, memory.lanes, memory.gates, memory.bytes, memory.bytes_limit, memory.lanes_outside
    FROM turnstile.memory
    ORDER BY memory.bytes DESC, memory.database
    LIMIT 50
) AS found
