-- Routes: which queue the jobs of a kind go to, changed while everything runs.

CREATE TABLE turnstile.route (
    pattern text NOT NULL,
    queue text,
    priority_offset int NOT NULL DEFAULT 0,
    override boolean NOT NULL DEFAULT false,
    concurrency_key text,
    CONSTRAINT route_pkey PRIMARY KEY (pattern),
    CONSTRAINT route_pattern_check CHECK (pattern <> '' AND octet_length(pattern) <= 255),
    CONSTRAINT route_queue_check CHECK (queue <> '' AND queue <> '*' AND octet_length(queue) <= 255),
    CONSTRAINT route_concurrency_key_check CHECK (concurrency_key <> '' AND octet_length(concurrency_key) <= 255)
);
COMMENT ON TABLE turnstile.route IS
    'Where the jobs of a kind go when they are enqueued. Of the patterns that match a kind the one with the most characters other than * holds.';
COMMENT ON COLUMN turnstile.route.pattern IS 'A kind; * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.route.queue IS 'The queue that the jobs go to; NULL: the route does not say.';
COMMENT ON COLUMN turnstile.route.priority_offset IS 'Added to the priority; more than 0: later.';
COMMENT ON COLUMN turnstile.route.override IS
    'False: the route is for jobs whose producer names no queue, and a key that he names stays. True: the route replaces what he names.';
COMMENT ON COLUMN turnstile.route.concurrency_key IS 'The concurrency key that the jobs get; NULL: the route does not say.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.route', '');

CREATE FUNCTION turnstile.routes_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_routes_changed';
COMMENT ON FUNCTION turnstile.routes_changed() IS 'Has every backend read the routes again.';
CREATE TRIGGER publish_routes AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.route
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile.routes_changed();
ALTER TABLE turnstile.route ENABLE ALWAYS TRIGGER publish_routes;

CREATE FUNCTION turnstile.route_of(kind text) RETURNS text
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_route_of';
COMMENT ON FUNCTION turnstile.route_of(text) IS
    'The pattern of the route that holds for a kind; NULL: there is none. Errors: 22004, 22023, 54000, 25006 on a standby.';

CREATE FUNCTION turnstile.reroute(pattern text, max_jobs int DEFAULT 10000, from_queue text DEFAULT NULL) RETURNS int
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_reroute';
COMMENT ON FUNCTION turnstile.reroute(text, int, text) IS
    'Moves up to max_jobs waiting jobs, oldest first, whose kind matches the pattern, to the queue and concurrency key that the routes now give their kinds, and returns how many: call it again until it returns 0. from_queue: only those that wait there. Jobs keep their position and priority; running ones, and those that somebody has locked, stay. It reads all live jobs. Errors: 22004, 22023, 54000, 25006.';

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
    PERFORM turnstile.check_name('pattern', set_route.pattern);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile.check_name('queue', set_route.queue, true);
    PERFORM turnstile.check_name('concurrency_key', set_route.concurrency_key, true);
    PERFORM turnstile.check_clear(set_route.clear, 'queue', 'concurrency_key');
    INSERT INTO turnstile.route (pattern) VALUES (set_route.pattern) ON CONFLICT DO NOTHING;
    UPDATE turnstile.route
    SET queue = CASE WHEN 'queue' = ANY (set_route.clear) THEN NULL ELSE coalesce(set_route.queue, queue) END,
        priority_offset = coalesce(set_route.priority_offset, priority_offset),
        override = coalesce(set_route.override, override),
        concurrency_key = CASE WHEN 'concurrency_key' = ANY (set_route.clear) THEN NULL
            ELSE coalesce(set_route.concurrency_key, concurrency_key) END
    WHERE pattern = set_route.pattern
    RETURNING * INTO made;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_route(text, text, int, boolean, text, text[]) IS
    'Makes or changes the route of the kinds that match a pattern, for jobs enqueued after the commit; returns its row. NULL leaves a column as it is; clear names columns to put to NULL: queue, concurrency_key. Errors: 22004, 22023, 54000.';

CREATE FUNCTION turnstile.drop_route(pattern text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile.check_name('pattern', drop_route.pattern);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.route WHERE route.pattern = drop_route.pattern;
    RETURN FOUND;
END
$function$;
COMMENT ON FUNCTION turnstile.drop_route(text) IS
    'Drops a route; false: there was none. Jobs that wait stay where they are. Errors: 22004, 22023, 54000.';
