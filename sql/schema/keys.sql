-- The hashes by which the scheduler knows lanes and gates. Stored in generated columns: they never change.

CREATE FUNCTION turnstile.lane_key(
    queue text, tenant text, account text, session text, concurrency_key text, priority int, holds_session boolean
) RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_lane_key';
COMMENT ON FUNCTION turnstile.lane_key(text, text, text, text, text, int, boolean) IS
    'The lane of jobs that share these names and this priority: a stable 64-bit hash. A job that holds its session waits for it no more.';

CREATE FUNCTION turnstile.gate_key(kind text, scope text, name text) RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_gate_key';
COMMENT ON FUNCTION turnstile.gate_key(text, text, text) IS
    'The gate of a queue, tenant, account (scope: its tenant) or concurrency key: a stable 64-bit hash.';
