"""A transaction's own jobs are not eligible before its commit, though they are in a lane that it claims from."""

from support.calls import claim, enqueue, ids


def test_a_claim_stops_before_what_its_own_transaction_added(db, conn, other):
    first = enqueue(conn)
    conn.execute("BEGIN")
    second = enqueue(conn)
    assert ids(claim(conn, ["default"], 2)) == [first]
    conn.execute("COMMIT")
    assert ids(claim(other, ["default"], 2)) == [second]
