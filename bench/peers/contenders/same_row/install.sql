CREATE EXTENSION turnstile;
-- LIKE copies no storage parameters; what fills the pages must be the same.
CREATE TABLE job (LIKE turnstile.job INCLUDING ALL) WITH (fillfactor = 45);
