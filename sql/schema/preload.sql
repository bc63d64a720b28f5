-- Loading the library raises 55000 with the line to add, unless the server has preloaded it.
CREATE FUNCTION turnstile.version() RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'turnstile_version';
COMMENT ON FUNCTION turnstile.version() IS
    'Returns the version of the loaded library.
Errors: 55000 the server has not preloaded it.';
SELECT turnstile.version();
