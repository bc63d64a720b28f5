-- Retry curves, changed while everything runs.

CREATE FUNCTION turnstile.set_retry_curve(
    kind text DEFAULT '*',
    error_class text DEFAULT '*',
    base interval DEFAULT NULL,
    factor float8 DEFAULT NULL,
    cap interval DEFAULT NULL,
    jitter float8 DEFAULT NULL,
    discard boolean DEFAULT NULL,
    clear text[] DEFAULT NULL
) RETURNS turnstile.retry_curve
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    made turnstile.retry_curve;
    broken text;
BEGIN
    PERFORM turnstile_internal.check_name('kind', set_retry_curve.kind);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_name('error_class', set_retry_curve.error_class);
    PERFORM turnstile_internal.check_clear(set_retry_curve.clear, 'base', 'cap');
    INSERT INTO turnstile.retry_curve (kind, error_class)
    VALUES (set_retry_curve.kind, set_retry_curve.error_class)
    ON CONFLICT DO NOTHING;
    UPDATE turnstile.retry_curve
    SET base = turnstile_internal.changed_setting('base', set_retry_curve.clear, set_retry_curve.base, base),
        factor = coalesce(set_retry_curve.factor, factor),
        cap = turnstile_internal.changed_setting('cap', set_retry_curve.clear, set_retry_curve.cap, cap),
        jitter = coalesce(set_retry_curve.jitter, jitter),
        discard = coalesce(set_retry_curve.discard, discard)
    WHERE kind = set_retry_curve.kind COLLATE "default" AND error_class = set_retry_curve.error_class COLLATE "default"
    RETURNING * INTO made;
    RETURN made;
EXCEPTION WHEN check_violation THEN
    GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
    PERFORM turnstile_internal.refuse_setting(broken);
END
$function$;
COMMENT ON FUNCTION turnstile.set_retry_curve(text, text, interval, float8, interval, float8, boolean, text[]) IS
    'Makes or changes a retry curve, for runs that fail after the commit. Returns its row. NULL leaves a column as it is. A new row has factor 2 and jitter 0.1, and base and cap of the queue.
kind: the kinds of jobs that it is for. * stands for any number of characters.
error_class: the classes of errors that it is for. * stands for any number of characters, and matches errors without a class.
base: the wait after the first counted attempt.
factor: how many times as long the next wait is.
cap: the longest wait, before jitter.
jitter: by which part of itself a wait is shorter or longer, at random.
discard: no other attempt follows.
clear: columns to set to NULL: base, cap.
Errors: 22004; 22023; 54000; 42501.';

CREATE FUNCTION turnstile.drop_retry_curve(kind text, error_class text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    PERFORM turnstile_internal.check_name('kind', drop_retry_curve.kind);
    PERFORM turnstile.check_permission('manage');
    PERFORM turnstile_internal.check_name('error_class', drop_retry_curve.error_class);
    DELETE FROM turnstile.retry_curve AS curve
    WHERE curve.kind = drop_retry_curve.kind COLLATE "default" AND curve.error_class = drop_retry_curve.error_class COLLATE "default";
    RETURN FOUND;
END
$function$;
COMMENT ON FUNCTION turnstile.drop_retry_curve(text, text) IS
    'Drops a retry curve. Returns false if there is none. Jobs that wait for another attempt stay as they are.
kind: as for set_retry_curve.
error_class: as for set_retry_curve.
Errors: 22004; 22023; 54000; 42501.';
