"""Where many tenants are new, a claim reads the settings of more than its own: they hold as if each had been read when it was needed."""

from collections import Counter

from support.calls import call, claim_all, claim_next, enqueue_many, enqueue_times

TENANTS = 100


def _tenant(number: int) -> str:
    return f"tenant {number:03}"


def _enqueue_for_all(conn, jobs: int) -> None:
    enqueue_many(conn, [{"kind": "work", "tenant": _tenant(number)} for number in range(TENANTS) for _ in range(jobs)])


def test_each_tenant_has_its_own_limit_or_that_of_the_default_row(conn):
    call(conn, "set_tenant", name="*", slots=2)
    for number in range(0, TENANTS, 3):
        call(conn, "set_tenant", name=_tenant(number), slots=1)
    _enqueue_for_all(conn, 4)
    running = Counter(run.tenant for run in claim_all(conn))
    assert running == {_tenant(number): 2 if number % 3 else 1 for number in range(TENANTS)}
    assert call(conn, "check") == []


def test_a_change_after_settings_were_read_ahead_holds(conn, other):
    call(conn, "set_tenant", name="*", slots=1)
    _enqueue_for_all(conn, 3)
    first = [claim_next(conn).tenant for _ in range(TENANTS // 2)]
    late = next(_tenant(number) for number in range(TENANTS) if _tenant(number) not in first)
    call(other, "set_tenant", name=late, slots=3)
    running = Counter([*first, *(run.tenant for run in claim_all(conn))])
    assert running == {_tenant(number): 3 if _tenant(number) == late else 1 for number in range(TENANTS)}
    assert call(conn, "check") == []


def test_settings_that_another_transaction_changes_meanwhile_are_not_learned(conn, other):
    call(conn, "set_tenant", name="*", slots=1)
    _enqueue_for_all(conn, 2)
    with other.transaction():
        call(other, "set_tenant", name="*", slots=2)
        enqueue_times(other, 1, tenant="one more")
        assert len(claim_all(conn)) == TENANTS
    assert len(claim_all(conn)) == TENANTS + 1
    assert call(conn, "check") == []
