-- Who claims.

CREATE FUNCTION turnstile_internal.workers_seen()
    RETURNS TABLE (
        worker text, queue text, first_seen timestamptz, last_seen timestamptz, claims bigint, jobs bigint
    )
    LANGUAGE c STABLE ROWS 100
    AS 'MODULE_PATHNAME', 'turnstile_workers_seen';
COMMENT ON FUNCTION turnstile_internal.workers_seen() IS
    'For the view workers: the workers that memory knows, the one seen last first.
Errors: 42501.';

CREATE VIEW turnstile.workers AS
SELECT seen.worker, seen.queue, seen.first_seen, seen.last_seen, seen.claims, seen.jobs
FROM turnstile_internal.workers_seen() AS seen;
COMMENT ON VIEW turnstile.workers IS
    'Who claims: the workers that claims have named, the 1,000 that were seen last. It is in memory: a restart and a crash empty it. Claims count whether they find something or not, and whether they are committed or not.';
COMMENT ON COLUMN turnstile.workers.worker IS
    'The name that claims gave as worker, its first 127 bytes. NULL stands for all claims that gave none.';
COMMENT ON COLUMN turnstile.workers.queue IS
    'The queue in which the last claim looked last, of those that it named; * stands for all. NULL: not known any more.';
COMMENT ON COLUMN turnstile.workers.first_seen IS 'When a claim first gave the name, since memory knows it.';
COMMENT ON COLUMN turnstile.workers.last_seen IS
    'When a claim last gave the name. A claim that waits counts when it begins, and each time it looks again.';
COMMENT ON COLUMN turnstile.workers.claims IS 'Calls that claimed, also those that found nothing.';
COMMENT ON COLUMN turnstile.workers.jobs IS 'Jobs that they took.';
