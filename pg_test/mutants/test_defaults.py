"""A default row that comes later holds for gates whose limit has been read before."""

from support.calls import claim_next, enqueue_times
from support.settings import configure


def test_a_default_row_holds_for_gates_that_were_met_before(db, conn, other):
    enqueue_times(conn, 5, tenant="acme")
    assert claim_next(conn) is not None
    configure(other, "tenant", "*", slots=2)
    assert claim_next(conn) is not None
    assert claim_next(conn) is None
