-- The hashes by which the scheduler knows gates. Stored in generated columns: they never change.

CREATE FUNCTION turnstile.gate_key(kind text, scope text, name text) RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_gate_key';
COMMENT ON FUNCTION turnstile.gate_key(text, text, text) IS
    'The gate of a queue, tenant, account (scope: its tenant) or concurrency key: a stable 64-bit hash.';
