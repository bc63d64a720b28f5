SELECT pg_catalog.to_json(extract(epoch FROM pg_catalog.min(stat.stats_reset))::float8)::text
FROM turnstile.stat_queue AS stat
