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
    'Which queue, priority offset and concurrency key jobs get by their kind when they are enqueued. Of the patterns that match, the one with the most characters other than * applies, alone.';
COMMENT ON COLUMN turnstile.route.pattern IS
    'A kind. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.route.queue IS 'The queue that the jobs get. NULL: the route does not say.';
COMMENT ON COLUMN turnstile.route.priority_offset IS 'Added to the priority. More than 0: later.';
COMMENT ON COLUMN turnstile.route.override IS
    'False: the route applies to jobs whose producer names no queue, and leaves a concurrency key that the producer names. True: it applies to all, and replaces both.';
COMMENT ON COLUMN turnstile.route.concurrency_key IS
    'The concurrency key that the jobs get. NULL: the route does not say.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.route', '');

CREATE FUNCTION turnstile_internal.routes_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_routes_changed';
COMMENT ON FUNCTION turnstile_internal.routes_changed() IS
    'Makes every backend read the routes again.';
CREATE TRIGGER publish_routes AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.route
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.routes_changed();
ALTER TABLE turnstile.route ENABLE ALWAYS TRIGGER publish_routes;
