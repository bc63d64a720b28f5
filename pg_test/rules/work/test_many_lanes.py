"""Transactions that change so many lanes, and leases, that memory is told in parts."""

import pytest

from support.calls import call, claim, complete_many, enqueue_many

MANY = 1000
DIFFERENCES = "SELECT problem, detail FROM turnstile.check()"


def _jobs(conn, each: int = 1) -> None:
    """Some for each of many tenants, who have one slot, the last ones first."""
    conn.execute("SELECT turnstile.set_tenant('*', slots => 1)")
    tenants = [{"kind": "work", "tenant": f"t{n}", "priority": -n} for n in range(MANY)]
    assert len(enqueue_many(conn, tenants * each)) == each * MANY


def _claim_all(conn) -> list:
    runs = claim(conn, ["default"], 2 * MANY)
    assert [run.tenant for run in runs] == [f"t{n}" for n in reversed(range(MANY))]
    return runs


def _agrees(conn) -> bool:
    return conn.execute(DIFFERENCES).fetchall() == []


def test_jobs_that_are_added_come_in_order(conn):
    _jobs(conn)
    assert _agrees(conn)
    _claim_all(conn)
    assert _agrees(conn)


def test_runs_that_end_give_back_their_slots(conn):
    _jobs(conn, 2)
    assert complete_many(conn, _claim_all(conn)) == MANY
    assert _agrees(conn)
    _claim_all(conn)
    assert _agrees(conn)


@pytest.mark.parametrize("undo", ["ROLLBACK", "ROLLBACK TO one; COMMIT"])
def test_jobs_that_come_back_with_a_rollback(conn, undo):
    _jobs(conn)
    conn.execute("BEGIN; SAVEPOINT one")
    assert call(conn, "cancel_many", queue="default", max_jobs=MANY)[0][0] == MANY
    conn.execute(undo)
    assert _agrees(conn)
    _claim_all(conn)


def test_claims_that_are_rolled_back(conn):
    _jobs(conn)
    conn.execute("BEGIN")
    _claim_all(conn)
    conn.execute("ROLLBACK")
    assert _agrees(conn)
    _claim_all(conn)


# Notes for each job that starts how much room of its queue open claims hold.
NOTE_ROOM = """
    CREATE TABLE public.room (held bigint);
    CREATE FUNCTION note_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.room SELECT starting FROM turnstile.queues WHERE name = 'default';
        RETURN NEW;
    END $$;
    CREATE TRIGGER note_room BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION note_room();
"""


def test_a_claim_of_many_holds_little_more_room_than_it_takes(conn):
    """Where it meets lane after lane with one job. To hold all that it wants in each would leave others nothing, and take the square."""
    enqueue_many(conn, [{"kind": "work", "tenant": f"t{n}"} for n in range(100)])
    conn.execute(NOTE_ROOM)
    assert len(claim(conn, ["default"], 500)) == 100
    held = [room for (room,) in conn.execute("SELECT held FROM public.room").fetchall()]
    assert held[0] == 500
    assert max(held[1:]) < 150
