SELECT pg_catalog.to_json(found)::text
FROM (
    SELECT
        pg_catalog.current_setting('server_version') AS version,
        extract(epoch FROM pg_catalog.pg_postmaster_start_time())::float8 AS started_at,
        pg_catalog.host(pg_catalog.inet_server_addr()) AS address,
        pg_catalog.inet_server_port() AS port,
        pg_catalog.current_setting('cluster_name') AS cluster
) AS found
