DROP SCHEMA IF EXISTS turnstile_bench CASCADE;
CREATE SCHEMA turnstile_bench;
