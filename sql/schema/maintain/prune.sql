-- Unique keys that nobody holds any longer.

CREATE FUNCTION turnstile.prune_unique_keys(max_keys int DEFAULT 10000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_prune_unique_keys';
COMMENT ON FUNCTION turnstile.prune_unique_keys(int) IS
    'Deletes rows of unique_key whose holder is gone and whose window is over, and returns how many. Rows that an open snapshot could still see stay.
max_keys: more than 0.
Errors: 22004; 22023; 42501; 25006.';
