SELECT pg_catalog.to_json(EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron'))::text
