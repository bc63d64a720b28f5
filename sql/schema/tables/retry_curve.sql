-- Retry curves: how long a job waits for another attempt, by its kind and by the class of the error, changed while everything runs.

CREATE TABLE turnstile.retry_curve (
    kind text NOT NULL,
    error_class text NOT NULL,
    base interval,
    factor float8 NOT NULL DEFAULT 2,
    cap interval,
    jitter float8 NOT NULL DEFAULT 0.1,
    discard boolean NOT NULL DEFAULT false,
    CONSTRAINT retry_curve_pkey PRIMARY KEY (kind, error_class),
    CONSTRAINT retry_curve_kind_check CHECK (kind <> '' AND octet_length(kind) <= 255),
    CONSTRAINT retry_curve_error_class_check CHECK (error_class <> '' AND octet_length(error_class) <= 255),
    CONSTRAINT retry_curve_base_check CHECK (base >= '0' AND base <= '100 years'),
    CONSTRAINT retry_curve_factor_check CHECK (factor >= 1 AND factor <= 1000),
    CONSTRAINT retry_curve_cap_check CHECK (cap >= '0' AND cap <= '100 years'),
    CONSTRAINT retry_curve_jitter_check CHECK (jitter >= 0 AND jitter <= 1)
);
COMMENT ON TABLE turnstile.retry_curve IS
    'How long a failed job waits for another attempt, by its kind and the class of the error. Of the rows whose patterns match, one applies: that with the kind itself, else with the most characters other than * in its kind; of several, the same by the class. An error without a class matches * alone. After counted attempt n the wait is least(cap, base * factor^(n-1)), times a random number from 1 - jitter to 1 + jitter; 30 years at most. Without a row: retry_base and retry_cap of the queue.';
COMMENT ON COLUMN turnstile.retry_curve.kind IS
    'Kinds of jobs. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.retry_curve.error_class IS
    'Classes of errors, as fail names them. * stands for any number of characters, everything else for itself.';
COMMENT ON COLUMN turnstile.retry_curve.base IS
    'The wait after the first counted attempt. At most 100 years. NULL: retry_base of the queue.';
COMMENT ON COLUMN turnstile.retry_curve.factor IS 'How many times as long the next wait is. From 1 to 1,000.';
COMMENT ON COLUMN turnstile.retry_curve.cap IS 'The longest wait, before jitter. At most 100 years. NULL: retry_cap of the queue.';
COMMENT ON COLUMN turnstile.retry_curve.jitter IS
    'By which part of itself a wait is shorter or longer, at random: jobs that failed together come back one by one. From 0 to 1.';
COMMENT ON COLUMN turnstile.retry_curve.discard IS
    'No other attempt follows such an error, even if some are left and the worker says when.';

SELECT pg_catalog.pg_extension_config_dump('turnstile.retry_curve', '');

CREATE FUNCTION turnstile_internal.retry_curves_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'turnstile_retry_curves_changed';
COMMENT ON FUNCTION turnstile_internal.retry_curves_changed() IS
    'Refuses changes of retry curves by roles that may not manage.';
CREATE TRIGGER check_retry_curves AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON turnstile.retry_curve
    FOR EACH STATEMENT EXECUTE FUNCTION turnstile_internal.retry_curves_changed();
ALTER TABLE turnstile.retry_curve ENABLE ALWAYS TRIGGER check_retry_curves;
