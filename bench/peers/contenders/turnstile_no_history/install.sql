CREATE EXTENSION turnstile;
SELECT turnstile.set_queue('default', keep_completed => '0');
