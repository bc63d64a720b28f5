SELECT pg_catalog.to_json(found)::text
FROM (SELECT metrics.name, metrics.type, metrics.help, metrics.labels, metrics.value FROM turnstile.metrics) AS found
