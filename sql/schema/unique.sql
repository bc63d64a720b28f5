-- Who holds which unique key. A row a holder; the newest generation of a key is the one that counts.
--
-- 1. At most one committed row a key: generation n + 1 is inserted by the transaction that deletes n, and
--    generation 1 only where none is left.
-- 2. Two producers that want the same key meet at the same row (or, without one, at the same key of the
--    index): the second waits for the first's transaction, for no other, and looks again.
-- 3. A key is looked up from its newest generation backwards, so that the dead ones behind it are never
--    walked, however many a long snapshot pins.

CREATE TABLE turnstile.unique_key (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    job_id bigint NOT NULL,
    mode text NOT NULL,
    expires_at timestamptz,
    CONSTRAINT unique_key_pkey PRIMARY KEY (tenant, key, generation)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE turnstile.unique_key IS
    'Holders of unique keys, written by enqueue. Deleting a row by hand frees its key.';
COMMENT ON COLUMN turnstile.unique_key.tenant IS 'The scope of the key; empty: jobs without a tenant.';
COMMENT ON COLUMN turnstile.unique_key.generation IS 'Counts the holders of the key; the newest one counts.';
COMMENT ON COLUMN turnstile.unique_key.job_id IS 'The job that holds the key, or held it: whether it still does depends on mode, state and expires_at.';
COMMENT ON COLUMN turnstile.unique_key.mode IS 'The unique_mode with which the holder was enqueued.';
COMMENT ON COLUMN turnstile.unique_key.expires_at IS 'unique_for after the enqueue: from then on the key is free, whatever the job does.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.unique_key', '');

-- Ids may start anew after a TRUNCATE (RESTART IDENTITY), so no holder may outlive it.
CREATE FUNCTION turnstile.forget_unique_keys() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    -- It runs with the owner's rights, so not on somebody's own table.
    IF (TG_RELID, TG_WHEN, TG_LEVEL, TG_OP)
        IS DISTINCT FROM ('turnstile.job'::regclass::oid, 'AFTER', 'STATEMENT', 'TRUNCATE')
    THEN
        RAISE EXCEPTION 'forget_unique_keys() is not for this trigger' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('It was called %s %s for each %s on %s.', TG_WHEN, TG_OP, TG_LEVEL, TG_RELID::regclass),
            HINT = 'The extension has it called after TRUNCATE turnstile.job; drop the other trigger.';
    END IF;
    TRUNCATE turnstile.unique_key;
    RETURN NULL;
END
$function$;
COMMENT ON FUNCTION turnstile.forget_unique_keys() IS 'Frees all unique keys after TRUNCATE turnstile.job.';

CREATE TRIGGER forget_unique_keys AFTER TRUNCATE ON turnstile.job
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.forget_unique_keys();
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER forget_unique_keys;

CREATE FUNCTION turnstile.prune_unique_keys(max_keys int DEFAULT 10000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_prune_unique_keys';
COMMENT ON FUNCTION turnstile.prune_unique_keys(int) IS
    'Deletes up to max_keys rows of unique_key whose holder is gone and whose window is over; returns how many. Rows that an open snapshot could still see stay: deleting them would free nothing. Errors: 22004, 22023 not positive, 25006.';
