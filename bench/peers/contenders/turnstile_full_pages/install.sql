CREATE EXTENSION turnstile;
ALTER TABLE turnstile.job SET (fillfactor = 100);
