"""What a producer passes as metadata, such as a trace context, arrives unchanged wherever the job goes."""

from psycopg.types.json import Jsonb

from support.calls import claim, claim_next, complete, complete_and_claim_next, enqueue, enqueue_many, fail, release, retry

TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "vendor=ä,\t\"quoted\"",
    "baggage": {"deep": [1, 2.50, None, True]},
}


def _in_history(conn) -> list:
    return [metadata for (metadata,) in conn.execute("SELECT metadata FROM turnstile.job_history ORDER BY id").fetchall()]


def test_each_claim_hands_it_over(conn):
    enqueue(conn, metadata=TRACE)
    enqueue_many(conn, [{"kind": "work", "metadata": TRACE}] * 2)
    first = claim_next(conn)
    second = complete_and_claim_next(conn, first)
    (third,) = claim(conn, ["default"])
    assert [run.metadata for run in (first, second, third)] == [TRACE] * 3
    complete(conn, second)
    complete(conn, third)
    assert _in_history(conn) == [TRACE] * 3


def test_it_stays_over_attempts_and_a_retry_from_the_history(conn):
    job_id = enqueue(conn, metadata=TRACE, max_attempts=2)
    release(conn, claim_next(conn))
    fail(conn, claim_next(conn), retry_in="0", error="once")
    run = claim_next(conn)
    assert run.metadata == TRACE
    fail(conn, run, error="twice")
    assert _in_history(conn) == [TRACE]
    retry(conn, job_id)
    assert claim_next(conn).metadata == TRACE


def test_it_is_the_same_text_in_the_history(conn):
    """Not only an equal value: 2.50 stays 2.50."""
    given = conn.execute("SELECT %s::jsonb::text", [Jsonb(TRACE)]).fetchone()
    enqueue(conn, metadata=TRACE)
    complete(conn, claim_next(conn))
    assert conn.execute("SELECT metadata::text FROM turnstile.job_history").fetchone() == given


def test_a_job_without_has_none(conn):
    enqueue(conn)
    assert claim_next(conn).metadata is None
