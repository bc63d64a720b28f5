SELECT count(*) FROM turnstile.claim(ARRAY['default'], 100);
