"""What a transaction frees and takes again is counted once."""

from support.calls import claim, claim_all, complete, enqueue_times, ids
from support.settings import configure


def test_a_slot_freed_in_a_transaction_serves_one_of_its_claims(db, conn, other):
    configure(conn, "tenant", "acme", slots=2)
    made = enqueue_times(conn, 6, tenant="acme")
    first, second = claim(conn, ["default"], 2)
    conn.execute("BEGIN")
    assert complete(conn, first) is True
    assert ids(claim_all(conn)) == made[2:3]
    assert claim_all(other) == []
    conn.execute("COMMIT")
    assert claim_all(other) == []
    assert complete(other, second) is True
    assert ids(claim_all(other)) == made[3:4]
