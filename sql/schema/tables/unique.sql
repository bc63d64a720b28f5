-- Unique keys and their holders, one row for each. The newest generation of a key counts.
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
    mode text,
    expires_at timestamptz,
    states text[],
    CONSTRAINT unique_key_pkey PRIMARY KEY (tenant, key, generation)
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE turnstile.unique_key IS
    'Holders of unique keys, written by enqueue. Deleting a row frees its key.';
COMMENT ON COLUMN turnstile.unique_key.tenant IS 'The tenant that the key belongs to. Empty: jobs without a tenant.';
COMMENT ON COLUMN turnstile.unique_key.key IS 'The key, or the hash of the columns of unique_by.';
COMMENT ON COLUMN turnstile.unique_key.generation IS 'Counts the holders of the key. The newest one counts.';
COMMENT ON COLUMN turnstile.unique_key.job_id IS
    'The job that holds the key, or held it. Mode or states, its state and expires_at decide whether it still does.';
COMMENT ON COLUMN turnstile.unique_key.mode IS 'The unique_mode with which the holder was enqueued. NULL: states says it.';
COMMENT ON COLUMN turnstile.unique_key.expires_at IS
    'From this time on the key is free, whatever the job does. NULL: by the mode or the states alone.';
COMMENT ON COLUMN turnstile.unique_key.states IS 'The unique_states with which the holder was enqueued. NULL: mode says it.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.unique_key', '');

-- Ids may start anew after a TRUNCATE (RESTART IDENTITY), so no holder may outlive it.
CREATE FUNCTION turnstile_internal.forget_unique_keys() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    -- It runs with the rights of the owner, so never on a table of another role.
    IF (TG_RELID, TG_WHEN, TG_LEVEL, TG_OP)
        IS DISTINCT FROM ('turnstile.job'::regclass::oid, 'AFTER', 'STATEMENT', 'TRUNCATE')
    THEN
        RAISE EXCEPTION 'forget_unique_keys() cannot be called by this trigger' USING ERRCODE = '55000',
            DETAIL = pg_catalog.format('It was called %s %s for each %s on %s.', TG_WHEN, TG_OP, TG_LEVEL, TG_RELID::regclass),
            HINT = 'It is for the trigger of the extension on turnstile.job. Drop this trigger.';
    END IF;
    -- A statement that names both tables has it open, and has emptied it. What it holds on disk counts, and not what a snapshot sees.
    IF pg_catalog.pg_relation_size('turnstile.unique_key') > 0 THEN
        TRUNCATE turnstile.unique_key;
    END IF;
    RETURN NULL;
END
$function$;
COMMENT ON FUNCTION turnstile_internal.forget_unique_keys() IS
    'Frees all unique keys after TRUNCATE turnstile.job.';

CREATE TRIGGER forget_unique_keys AFTER TRUNCATE ON turnstile.job
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.forget_unique_keys();
ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER forget_unique_keys;
