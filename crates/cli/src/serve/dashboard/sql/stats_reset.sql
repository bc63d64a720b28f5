SELECT pg_catalog.to_json(found)::text
FROM (SELECT extract(epoch FROM pg_catalog.min(stat.stats_reset))::float8 AS since FROM turnstile.stat_queue AS stat) AS found
