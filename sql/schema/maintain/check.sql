-- The memory of the scheduler against the tables.

CREATE FUNCTION turnstile.check() RETURNS TABLE (problem text, detail text)
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_check';
COMMENT ON FUNCTION turnstile.check() IS
    'Compares the memory of the scheduler with the tables (lanes, heads, counts, limits, structure), and names jobs that no claim can find, as those that were loaded while triggers were disabled.
Returns: a row for each difference. No row: all is well.
It reads all live jobs. Others wait only while memory is copied. A NOTICE says why rows are not changed directly, where that is so.
Errors: 42501; 25006.';

CREATE FUNCTION turnstile.rebuild() RETURNS void
    LANGUAGE c VOLATILE
    AS 'MODULE_PATHNAME', 'turnstile_rebuild';
COMMENT ON FUNCTION turnstile.rebuild() IS
    'Rebuilds the memory of the scheduler from the tables. Producers and the ends of runs go on; claims wait. The first claim does it where it is needed.
Errors: 42501; 25006.';
