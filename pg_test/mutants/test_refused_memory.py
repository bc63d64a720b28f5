"""A system without memory: lanes are left to the tables, no producer is refused, no limit is passed, and all jobs run."""

from faults.witness import is_sound
from support.calls import claim, claim_next, complete_many, enqueue_times
from support.settings import configure

SESSIONS = 3_000


def _refuse(*conns) -> None:
    for conn in conns:
        conn.execute("SET turnstile.seeded_fault = 'RefuseMemory'")


def test_what_finds_no_memory_is_run_from_the_tables(db, conn, other):
    configure(conn, "tenant", "flood", slots=3)
    small = enqueue_times(conn, 20, queue="small")
    assert claim_next(conn, "none") is None
    _refuse(conn, other)
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, session)"
        " SELECT 'flood', 'work', 'flood', 's' || s FROM generate_series(1, %s) s",
        [SESSIONS],
    )
    lanes, outside = conn.execute(
        "SELECT lanes, lanes_outside FROM turnstile.memory WHERE database = current_database()"
    ).fetchone()
    assert lanes < SESSIONS < lanes + outside + 1
    assert [claim_next(other, "small").id for _ in small] == small
    finished = 0
    while runs := claim(other, ["flood"], 100):
        assert len(runs) <= 3
        finished += complete_many(other, runs)
    assert finished == SESSIONS
    is_sound(conn)
