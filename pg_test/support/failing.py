"""Jobs that fail again in the transaction that retries them."""

from contextlib import contextmanager

from support.calls import call, enqueue_many

AGAIN = """
CREATE FUNCTION fail_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE turnstile.job
    SET state = 'retryable', run_at = 'tomorrow', errors = jsonb_build_array(jsonb_build_object('at', clock_timestamp()))
    WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fail_again AFTER UPDATE ON turnstile.job DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.state = 'retryable' AND NEW.state = 'available') EXECUTE FUNCTION fail_again()
"""


@contextmanager
def failing(conn, kind: str, number: int):
    """So many retryable jobs of the kind."""
    enqueue_many(conn, [{"kind": kind, "queue": kind}] * number)
    runs = call(conn, "claim", queues=[kind], max_jobs=number)
    call(
        conn, "fail_many", job_ids=[run.id for run in runs], attempts=[run.attempt for run in runs],
        errors=["no such address"] * number, retry_in=["1 day"] * number,
    )  # fmt: skip
    conn.execute(AGAIN)
    try:
        yield
    finally:
        conn.execute("DROP FUNCTION fail_again() CASCADE")
