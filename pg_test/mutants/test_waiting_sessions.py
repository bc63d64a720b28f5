"""A session waits for its next job: while an open transaction has taken that out, and no longer than it is there."""

from support.calls import claim_all, claim_next, enqueue, ids
from support.settings import configure


def test_a_session_waits_for_what_an_open_transaction_took_out_of_it(db, conn, other):
    first = enqueue(conn, session="chat-1")
    enqueue(conn, session="chat-1")
    conn.execute("BEGIN")
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [first])
    assert claim_all(conn) == [], "the next job of the session is not gone before the commit"
    assert claim_next(other) is None
    conn.execute("ROLLBACK")
    assert ids(claim_all(other)) == [first]


def test_a_session_goes_on_when_the_job_it_waits_for_is_gone(db, conn):
    """The first job of the session is behind a closed account, the next is not."""
    configure(conn, "account", "acme", "full", slots=0)
    first = enqueue(conn, tenant="acme", account="full", session="chat-1")
    second = enqueue(conn, tenant="acme", account="open", session="chat-1")
    assert claim_next(conn) is None
    conn.execute("DELETE FROM turnstile.job WHERE id = %s", [first])
    assert ids(claim_all(conn)) == [second]
