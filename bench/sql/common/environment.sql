SELECT name, current_setting(name)
FROM pg_settings
WHERE name IN (
    'autovacuum', 'autovacuum_naptime', 'checkpoint_timeout', 'default_transaction_isolation',
    'fsync', 'full_page_writes', 'jit', 'max_connections', 'max_wal_size',
    'shared_buffers', 'shared_preload_libraries', 'synchronous_commit', 'wal_compression',
    'wal_level', 'wal_sync_method', 'work_mem'
)
   OR name LIKE 'turnstile.%'
ORDER BY name;
