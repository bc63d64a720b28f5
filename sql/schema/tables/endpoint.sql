-- Endpoints: where the jobs of a kind are sent, changed while everything runs; and what slows their hosts.

CREATE TABLE turnstile.endpoint (
    pattern text NOT NULL,
    url text NOT NULL,
    method text NOT NULL DEFAULT 'POST',
    headers jsonb NOT NULL DEFAULT '{}',
    timeout interval,
    mode text NOT NULL DEFAULT 'sync',
    permanent_status int[] NOT NULL DEFAULT '{}',
    key_by_host boolean NOT NULL DEFAULT true,
    -- Functions of pg_catalog only: they run with the rights of the role that inserts.
    concurrency_key text GENERATED ALWAYS AS (
        CASE WHEN key_by_host THEN 'host:' || lower(regexp_replace(
            substring(url FROM '^https?://([^/?]+)'), CASE WHEN url LIKE 'https:%' THEN ':443$' ELSE ':80$' END, ''
        ) COLLATE "C") END
    ) STORED,
    secret text,
    allow_private boolean NOT NULL DEFAULT false,
    keep_response boolean NOT NULL DEFAULT false,
    cloudevents boolean NOT NULL DEFAULT false,
    trial_after int NOT NULL DEFAULT 5,
    paused boolean NOT NULL DEFAULT false,
    gate bigint,
    CONSTRAINT endpoint_pkey PRIMARY KEY (pattern),
    CONSTRAINT endpoint_pattern_check CHECK (pattern <> '' AND octet_length(pattern) <= 255),
    -- Scheme, host and port are fixed, so that no payload decides where a request goes.
    CONSTRAINT endpoint_url_check CHECK (
        url ~ ('^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])'
            '(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?][^#\\[:space:][:cntrl:]]*)?$')
        AND regexp_replace(url, '\{payload(\.[^{}./?]+)+\}', '', 'g') !~ '[{}]' AND octet_length(url) <= 2000
    ),
    CONSTRAINT endpoint_concurrency_key_check CHECK (octet_length(concurrency_key) <= 255),
    CONSTRAINT endpoint_method_check CHECK (method IN ('POST', 'PUT', 'PATCH', 'GET', 'DELETE')),
    -- A value without control characters cannot begin another header.
    CONSTRAINT endpoint_headers_check CHECK (
        jsonb_typeof(headers) = 'object' AND octet_length(headers::text) <= 16384
        AND NOT jsonb_path_exists(headers, 'strict $.keyvalue() ? (
            @.value.type() != "string"
            || !(@.key like_regex "^[-!#$%&\u0027*+.^_`|~0-9A-Za-z]+$")
            || @.key like_regex
                "^(host|content-length|transfer-encoding|connection|upgrade|te|trailer|keep-alive|proxy-.*|expect)$" flag "i"
        )')
        AND NOT jsonb_path_exists(headers, 'strict $.* ? (@ like_regex "[[:cntrl:]]")')
        -- No two names differ only in case: in lower case there are as many.
        AND jsonb_array_length(jsonb_path_query_array(headers, '$.*'))
            = jsonb_array_length(jsonb_path_query_array(lower(headers::text COLLATE "C")::jsonb, '$.*'))
    ),
    CONSTRAINT endpoint_timeout_check CHECK (timeout > '0' AND timeout <= '100 years'),
    CONSTRAINT endpoint_mode_check CHECK (mode IN ('sync', 'async', 'fireworq')),
    CONSTRAINT endpoint_permanent_status_check CHECK (
        coalesce(array_ndims(permanent_status), 1) = 1 AND array_position(permanent_status, NULL) IS NULL AND 300 <= ALL (permanent_status) AND 599 >= ALL (permanent_status)
        AND cardinality(permanent_status) <= 300
    ),
    CONSTRAINT endpoint_secret_check CHECK (
        (secret ~ '^env:TURNSTILE_SECRET_[A-Za-z0-9_]+$'
            OR secret ~ '^file:[^/\\[:cntrl:]][^\\[:cntrl:]]*$' AND secret !~ '[:/]\.\.(/|$)')
        AND octet_length(secret) <= 255
    ),
    CONSTRAINT endpoint_trial_after_check CHECK (trial_after >= 0)
);
CREATE INDEX endpoint_concurrency_key_idx ON turnstile.endpoint (concurrency_key);
-- Who reads the settings of a key must not pay for all endpoints that are paused.
CREATE INDEX endpoint_paused_idx ON turnstile.endpoint (gate) WHERE paused AND concurrency_key IS NOT NULL;
COMMENT ON TABLE turnstile.endpoint IS
    'Where turnstile dispatch sends the jobs of a kind. Of the patterns that match, the one with the most characters other than * applies, alone.';
COMMENT ON COLUMN turnstile.endpoint.pattern IS
    'A kind. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.endpoint.url IS
    'An address with http or https. {payload.a.b} in its path or query stands for that value of the payload, percent-encoded; its names are without / and ?. The host is of letters, digits, dots, hyphens and underscores, or an IPv6 address in brackets. At most 2,000 bytes.';
COMMENT ON COLUMN turnstile.endpoint.method IS 'POST, PUT, PATCH, GET or DELETE.';
COMMENT ON COLUMN turnstile.endpoint.headers IS
    'More headers of each request: an object of strings, of at most 16 kB. No two names differ only in case. Not a place for secrets: see secret.';
COMMENT ON COLUMN turnstile.endpoint.timeout IS
    'The longest time for a request. More than 0, at most 100 years. NULL: the lease of the run, which no request outlasts.';
COMMENT ON COLUMN turnstile.endpoint.mode IS
    'sync: the response ends the run. async: the same, but after 202 the endpoint ends the run by a later call. fireworq: the status in the body decides.';
COMMENT ON COLUMN turnstile.endpoint.permanent_status IS
    'Statuses, from 300 to 599, that discard the job at once. 410 always does.';
COMMENT ON COLUMN turnstile.endpoint.key_by_host IS
    'Jobs get the concurrency key of the host when they are enqueued, unless the producer or a route names one.';
COMMENT ON COLUMN turnstile.endpoint.concurrency_key IS
    'The concurrency key of the host: host: and the host with the port, in lower case, without the default port. NULL: key_by_host is false.';
COMMENT ON COLUMN turnstile.endpoint.secret IS
    'Where the dispatcher finds the secrets that sign requests: env:TURNSTILE_SECRET_... names a variable, file:... a path below its folder of secrets. Never the value. NULL: requests are not signed.';
COMMENT ON COLUMN turnstile.endpoint.allow_private IS 'Whether the host may have private addresses.';
COMMENT ON COLUMN turnstile.endpoint.keep_response IS
    'Whether a JSON body of a 2xx, up to 1 MB, becomes the result of the job, and the first 1,000 characters of other bodies go into its error.';
COMMENT ON COLUMN turnstile.endpoint.cloudevents IS 'Whether requests are CloudEvents in binary mode.';
COMMENT ON COLUMN turnstile.endpoint.trial_after IS
    'After so many failures in a row that one dispatcher sees, jobs of the host run one at a time until one succeeds. 0: never.';
COMMENT ON COLUMN turnstile.endpoint.paused IS
    'Nothing is sent. If all endpoints of a concurrency key are paused, no job of the key starts. A 410 sets it.';
COMMENT ON COLUMN turnstile.endpoint.gate IS
    'The key by which the scheduler knows the concurrency key of the host. Set by a trigger.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.endpoint', '');

CREATE TABLE turnstile.slowed_key (
    key text NOT NULL,
    paused_until timestamptz,
    one_at_a_time boolean NOT NULL DEFAULT false,
    gate bigint NOT NULL,
    CONSTRAINT slowed_key_pkey PRIMARY KEY (key),
    CONSTRAINT slowed_key_key_check CHECK (key <> '' AND key <> '*' AND octet_length(key) <= 255)
);
CREATE INDEX slowed_key_gate_idx ON turnstile.slowed_key (gate);
CREATE INDEX slowed_key_ended_idx ON turnstile.slowed_key (coalesce(paused_until, '-infinity')) WHERE NOT one_at_a_time;
COMMENT ON TABLE turnstile.slowed_key IS
    'Concurrency keys that are paused or on trial, beside their limits in turnstile.concurrency. A row whose pause is over, without a trial, means nothing.';
COMMENT ON COLUMN turnstile.slowed_key.key IS 'The concurrency key.';
COMMENT ON COLUMN turnstile.slowed_key.paused_until IS 'No job of the key starts before this time. NULL: it is not paused.';
COMMENT ON COLUMN turnstile.slowed_key.one_at_a_time IS
    'The key is on trial: one job of it runs at a time, or none where the limit is 0.';
COMMENT ON COLUMN turnstile.slowed_key.gate IS
    'The key by which the scheduler knows the concurrency key. Set by a trigger.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.slowed_key', '');

CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.endpoint
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('endpoint');
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER set_gate;
CREATE TRIGGER set_gate BEFORE INSERT OR UPDATE ON turnstile.slowed_key
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.set_gate('slowed_key');
ALTER TABLE turnstile.slowed_key ENABLE ALWAYS TRIGGER set_gate;

CREATE FUNCTION turnstile_internal.endpoints_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_endpoints_changed';
COMMENT ON FUNCTION turnstile_internal.endpoints_changed() IS
    'Makes every backend read the endpoints again.';
CREATE TRIGGER publish_endpoints AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.endpoint
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.endpoints_changed();
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER publish_endpoints;

CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.endpoint
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('endpoint');
CREATE TRIGGER publish_setting AFTER INSERT OR UPDATE OR DELETE ON turnstile.slowed_key
    FOR EACH ROW EXECUTE FUNCTION turnstile_internal.setting_changed('slowed_key');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.endpoint
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('endpoint');
CREATE TRIGGER publish_truncate AFTER TRUNCATE ON turnstile.slowed_key
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.settings_truncated('slowed_key');
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.slowed_key ENABLE ALWAYS TRIGGER publish_setting;
ALTER TABLE turnstile.endpoint ENABLE ALWAYS TRIGGER publish_truncate;
ALTER TABLE turnstile.slowed_key ENABLE ALWAYS TRIGGER publish_truncate;
