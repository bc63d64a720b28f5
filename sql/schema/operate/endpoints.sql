-- Endpoints, changed while everything runs.

CREATE FUNCTION turnstile.endpoint_of(kind text)
    RETURNS TABLE (
        pattern text, url text, method text, headers jsonb, timeout interval, mode text, permanent_status int[], concurrency_key text,
        secret text, allow_private boolean, keep_response boolean, cloudevents boolean, trial_after int, paused boolean, on_trial boolean
    )
    LANGUAGE c VOLATILE ROWS 1
    AS 'MODULE_PATHNAME', 'turnstile_endpoint_of';
COMMENT ON FUNCTION turnstile.endpoint_of(text) IS
    'Returns the endpoint that applies to a kind, with the columns of turnstile.endpoint; on_trial: jobs of its host run one at a time. No row: there is none. For who may work on some queue, or manage some jobs: these see the endpoint of any kind.
kind: as for enqueue.
Errors: 22004; 22023; 54000; 42501; 25006.';

CREATE FUNCTION turnstile.report_endpoint(job_id bigint, attempt int, answer text, pause interval DEFAULT NULL) RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_report_endpoint';
COMMENT ON FUNCTION turnstile.report_endpoint(bigint, int, text, interval) IS
    'Says how the endpoint of a run fares, for all dispatchers, from the next claim after the commit on. Nothing happens where the kind has no endpoint any more or, but for gone, where the endpoint has no concurrency key. The run goes on. The kind is the producer''s word: who may add and work jobs of any one queue can report on the endpoint of any kind, and so on its host.
job_id: as for complete.
attempt: as for complete.
answer: works: jobs of the host are no longer on trial. failing: they run one at a time until it works, unless trial_after is 0. busy: none starts for the time of pause. gone: the endpoint is paused.
pause: for busy, which it needs, more than 0, at most 24 hours. A longer pause is not shortened.
Errors: 22004; 22023; P0002; 55000 the run was superseded; 42501; 25006.';

CREATE FUNCTION turnstile.set_endpoint(
    pattern text,
    url text DEFAULT NULL,
    method text DEFAULT NULL,
    headers jsonb DEFAULT NULL,
    timeout interval DEFAULT NULL,
    mode text DEFAULT NULL,
    permanent_status int[] DEFAULT NULL,
    key_by_host boolean DEFAULT NULL,
    secret text DEFAULT NULL,
    allow_private boolean DEFAULT NULL,
    keep_response boolean DEFAULT NULL,
    cloudevents boolean DEFAULT NULL,
    trial_after int DEFAULT NULL,
    paused boolean DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.endpoint
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.endpoint;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('pattern', set_endpoint.pattern);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_clear(set_endpoint.clear, 'timeout', 'secret');
    INSERT INTO turnstile.endpoint (pattern, url)
    SELECT set_endpoint.pattern, set_endpoint.url
    WHERE set_endpoint.url IS NOT NULL
    ON CONFLICT DO NOTHING;
    UPDATE turnstile.endpoint
    SET url = coalesce(set_endpoint.url, url),
        method = coalesce(set_endpoint.method, method),
        headers = coalesce(set_endpoint.headers, headers),
        timeout = turnstile_internal.changed_setting('timeout', set_endpoint.clear, set_endpoint.timeout, timeout),
        mode = coalesce(set_endpoint.mode, mode),
        permanent_status = coalesce(set_endpoint.permanent_status, permanent_status),
        key_by_host = coalesce(set_endpoint.key_by_host, key_by_host),
        secret = turnstile_internal.changed_setting('secret', set_endpoint.clear, set_endpoint.secret, secret),
        allow_private = coalesce(set_endpoint.allow_private, allow_private),
        keep_response = coalesce(set_endpoint.keep_response, keep_response),
        cloudevents = coalesce(set_endpoint.cloudevents, cloudevents),
        trial_after = coalesce(set_endpoint.trial_after, trial_after),
        paused = coalesce(set_endpoint.paused, paused)
    WHERE pattern = set_endpoint.pattern COLLATE "default"
    RETURNING * INTO made;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'url must not be null' USING ERRCODE = '22004',
            DETAIL = format('There is no endpoint "%s" yet.', set_endpoint.pattern), HINT = 'Say where its jobs are sent.';
    END IF;
    -- No success will end a trial of a key that no endpoint has any more.
    UPDATE turnstile.slowed_key
    SET one_at_a_time = false
    WHERE one_at_a_time AND NOT EXISTS (
        SELECT FROM turnstile.endpoint WHERE endpoint.concurrency_key = slowed_key.key AND endpoint.trial_after > 0
    );
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_endpoint(text, text, text, jsonb, interval, text, int[], boolean, text, boolean, boolean, boolean, int, boolean, text[]) IS
    'Makes or changes an endpoint. Returns its row. NULL leaves a column as it is. Jobs that are enqueued after the commit get the key of its host; reroute() gives it to those that wait.
pattern: the kinds that the endpoint is for. * stands for any number of characters.
url: needed for a new endpoint.
clear: columns to set to NULL: timeout, secret.
The other arguments are the columns of turnstile.endpoint.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.drop_endpoint(pattern text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('pattern', drop_endpoint.pattern);
    PERFORM turnstile.check_permission('manage');
    DELETE FROM turnstile.endpoint WHERE endpoint.pattern = drop_endpoint.pattern COLLATE "default";
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- As set_endpoint().
    UPDATE turnstile.slowed_key
    SET one_at_a_time = false
    WHERE one_at_a_time AND NOT EXISTS (
        SELECT FROM turnstile.endpoint WHERE endpoint.concurrency_key = slowed_key.key AND endpoint.trial_after > 0
    );
    RETURN true;
END
$function$;
COMMENT ON FUNCTION turnstile.drop_endpoint(text) IS
    'Drops an endpoint. Returns false if there is none. Jobs that wait keep their concurrency key.
pattern: as for set_endpoint.
Errors: 22004; 22023; 54000; 42501.';
