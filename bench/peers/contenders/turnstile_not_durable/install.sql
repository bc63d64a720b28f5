CREATE EXTENSION turnstile;
SELECT turnstile.set_queue('default', durable_claims => false);
