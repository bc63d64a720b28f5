SELECT id, attempt, payload::text FROM turnstile.claim(ARRAY['default'], max_jobs => %(jobs)s);
