-- The hashes by which the scheduler knows gates. Stored with jobs and settings: they never change.

CREATE FUNCTION turnstile_internal.gate_key(kind text, scope text, name text) RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_gate_key';
COMMENT ON FUNCTION turnstile_internal.gate_key(text, text, text) IS
    'The key by which the scheduler knows the gate of a queue, tenant, account (scope: its tenant) or concurrency key: a stable 64-bit hash.';

CREATE FUNCTION turnstile_internal.session_gate(queue text, tenant text, session text) RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_session_gate';
COMMENT ON FUNCTION turnstile_internal.session_gate(text, text, text) IS
    'The key by which the scheduler knows the gate of a session, which belongs to a queue and a tenant or none: a stable 64-bit hash.';
