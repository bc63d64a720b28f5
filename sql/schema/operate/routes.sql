-- Routes, changed while everything runs.

CREATE FUNCTION turnstile.route_of(kind text) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_route_of';
COMMENT ON FUNCTION turnstile.route_of(text) IS
    'Returns the pattern of the route that applies to a kind. NULL: there is none.
kind: as for enqueue.
Errors: 22004; 22023; 54000; 25006.';

CREATE FUNCTION turnstile.reroute(pattern text, max_jobs int DEFAULT 10000, from_queue text DEFAULT NULL) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_reroute';
COMMENT ON FUNCTION turnstile.reroute(text, int, text) IS
    'Moves waiting jobs to the queue and concurrency key that the routes now give their kinds, oldest first, and returns how many. Call it again until it returns 0. Position and priority stay. Running jobs, jobs that hold their session while they wait for their children, and jobs that another transaction has locked are not moved; nor, with a WARNING, those that would come into the session of a job that waits for them, or for which they wait. A call reads all live jobs.
pattern: moves the jobs of kinds that match. * stands for any number of characters.
max_jobs: 0 or more.
from_queue: moves only jobs of this queue. NULL: of all queues.
Errors: 22004; 22023; 54000; 42501; 25006.';

CREATE FUNCTION turnstile.set_route(
    pattern text,
    queue text DEFAULT NULL,
    priority_offset int DEFAULT NULL,
    override boolean DEFAULT NULL,
    concurrency_key text DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.route
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.route;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('pattern', set_route.pattern);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_name('queue', set_route.queue, true);
    PERFORM turnstile_internal.check_name('concurrency_key', set_route.concurrency_key, true);
    PERFORM turnstile_internal.check_clear(set_route.clear, 'queue', 'concurrency_key');
    INSERT INTO turnstile.route (pattern) VALUES (set_route.pattern) ON CONFLICT DO NOTHING;
    UPDATE turnstile.route
    SET queue = turnstile_internal.changed_setting('queue', set_route.clear, set_route.queue, queue),
        priority_offset = coalesce(set_route.priority_offset, priority_offset),
        override = coalesce(set_route.override, override),
        concurrency_key = turnstile_internal.changed_setting('concurrency_key', set_route.clear, set_route.concurrency_key, concurrency_key)
    WHERE pattern = set_route.pattern COLLATE "default"
    RETURNING * INTO made;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_route(text, text, int, boolean, text, text[]) IS
    'Makes or changes a route, for jobs that are enqueued after the commit. Returns its row. NULL leaves a column as it is.
pattern: the kinds that the route is for. * stands for any number of characters.
queue: the queue that the jobs get.
priority_offset: added to the priority.
override: the route also applies to jobs whose producer names a queue, and replaces a concurrency key that the producer names.
concurrency_key: the concurrency key that the jobs get.
clear: columns to set to NULL: queue, concurrency_key.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.drop_route(pattern text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('pattern', drop_route.pattern);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.route WHERE route.pattern = drop_route.pattern COLLATE "default";
    RETURN FOUND;
END
$function$;
COMMENT ON FUNCTION turnstile.drop_route(text) IS
    'Drops a route. Returns false if there is none. Jobs that wait stay where they are.
pattern: as for set_route.
Errors: 22004; 22023; 54000; 42501.';
