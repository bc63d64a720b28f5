SELECT
    version(),
    coalesce(
        (SELECT extversion FROM pg_extension WHERE extname = 'turnstile'),
        (SELECT default_version FROM pg_available_extensions WHERE name = 'turnstile')
    );
