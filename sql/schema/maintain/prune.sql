-- Unique keys that nobody holds any longer.

CREATE FUNCTION turnstile.prune_unique_keys(max_keys int DEFAULT 10000) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_prune_unique_keys';
COMMENT ON FUNCTION turnstile.prune_unique_keys(int) IS
    'Deletes rows of unique_key whose holder is gone and whose window is over, and returns how many. Rows that an open snapshot could still see stay.
max_keys: more than 0.
Errors: 22004; 22023; 42501; 25006.';

-- A call looks at some rows only, from a random one on: most batches stay as long as their parent is in history.
CREATE FUNCTION turnstile_internal.prune_batches() RETURNS bigint
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $function$
    WITH some_batches AS MATERIALIZED (
        SELECT batch.id
        FROM turnstile.batch
        WHERE batch.id >= (SELECT (random() * max(last.id))::bigint FROM turnstile.batch AS last)
        ORDER BY batch.id
        LIMIT 1000
    ), some_dependencies AS MATERIALIZED (
        SELECT dependency.predecessor, dependency.job
        FROM turnstile.dependency
        WHERE dependency.predecessor >= (SELECT (random() * max(last.predecessor))::bigint FROM turnstile.dependency AS last)
        ORDER BY dependency.predecessor
        LIMIT 1000
    ), pruned_batches AS (
        DELETE FROM turnstile.batch
        USING some_batches
        WHERE batch.id = some_batches.id
            AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = batch.id)
            AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.parent = batch.id)
            AND NOT EXISTS (SELECT FROM turnstile.job_history WHERE job_history.id = batch.id)
        RETURNING batch.id
    ), pruned_dependencies AS (
        DELETE FROM turnstile.dependency
        USING some_dependencies
        WHERE dependency.predecessor = some_dependencies.predecessor AND dependency.job = some_dependencies.job
            AND NOT EXISTS (SELECT FROM turnstile.job WHERE job.id = dependency.job)
        RETURNING dependency.job
    )
    SELECT (SELECT count(*) FROM pruned_batches) + (SELECT count(*) FROM pruned_dependencies)
$function$;
COMMENT ON FUNCTION turnstile_internal.prune_batches() IS
    'For maintain(): deletes settings of batches whose parent is in history no more, and dependencies of jobs that have ended. Returns how many rows.';
