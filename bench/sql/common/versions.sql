SELECT version(), (SELECT extversion FROM pg_extension WHERE extname = 'turnstile');
