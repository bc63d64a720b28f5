-- What is missing, as far as a role without rights can see it. NULL: nothing.
SELECT
    CASE
        WHEN
            NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE pg_extension.extname = 'turnstile')
            THEN 'The database has no extension turnstile.'
        WHEN
            NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE pg_namespace.nspname = 'turnstile')
            THEN 'The database has no schema turnstile.'
        WHEN
            NOT EXISTS (SELECT FROM pg_catalog.pg_settings WHERE pg_settings.name = 'turnstile.max_payload')
            THEN 'The server was started without turnstile in shared_preload_libraries.'
    END
