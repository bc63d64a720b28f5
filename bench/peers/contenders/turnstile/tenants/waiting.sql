SELECT count(*) FROM turnstile.job WHERE state = 'available' AND tenant LIKE 'open-%%';
