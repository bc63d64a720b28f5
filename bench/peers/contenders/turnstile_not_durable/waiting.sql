SELECT count(*) FROM turnstile.job WHERE state = 'available';
